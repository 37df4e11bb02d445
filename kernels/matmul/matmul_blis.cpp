// Idea: BLIS as it is found: sgemm, dgemm; gemv at M = 1.
// Bound: packs inside the call; its kernels are those of the architecture that it recognises.
// A peer, not a rung.
#include "kernels/matmul/matmul_blas.hpp"

namespace kernels::matmul {
namespace {

bool offers(std::string_view, const Shape&, int threads) {
  return has_threads(peers::blis(), threads);
}

}  // namespace

extern const Kernel blis = {.exec_unit = "",
                            .f64 = f64_routine<peers::blis>(),
                            .f32 = f32_routine<peers::blis>(),
                            .label = [] { return peers::blis().label; },
                            .offers = offers};

}  // namespace kernels::matmul
