// Idea: AMD's BLAS, which is made of BLIS, as it is found: sgemm, dgemm; gemv at M = 1.
// Bound: packs inside the call where it packs at all.
// A peer, not a rung.
#include "kernels/matmul/matmul_blas.hpp"

namespace kernels::matmul {
namespace {

bool offers(std::string_view, const Shape&, int threads) {
  return has_threads(peers::aocl_blas(), threads);
}

}  // namespace

extern const Kernel aocl_blas = {.exec_unit = "",
                                 .f64 = f64_routine<peers::aocl_blas>(),
                                 .f32 = f32_routine<peers::aocl_blas>(),
                                 .label = [] { return peers::aocl_blas().label; },
                                 .offers = offers};

}  // namespace kernels::matmul
