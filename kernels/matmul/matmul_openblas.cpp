// Idea: OpenBLAS as it is found: sgemm, dgemm, sbgemm where it is built in; gemv at M = 1.
// Bound: packs inside the call; its kernels are those of the core type that it recognises.
// A peer, not a rung.
#include "kernels/cpu_features.hpp"
#include "kernels/matmul/matmul_blas.hpp"

namespace kernels::matmul {
namespace {

bool offers(std::string_view dtype, const Shape&, int threads) {
  const auto& blas = peers::openblas();
  if (!blas.missing.empty()) return true;
  return (threads == 1 || blas.threaded) && (dtype != "bf16" || blas.bf16_gemm != nullptr);
}

}  // namespace

extern const Kernel openblas = {.exec_unit = "",
                                .f64 = f64_routine<peers::openblas>(),
                                .f32 = f32_routine<peers::openblas>(),
                                .bf16_f32 = bf16_routine<peers::openblas>(),
                                .bf16_roof = cpu_features().avx512_bf16 ? "bf16" : "f32",
                                .label = [] { return peers::openblas().label; },
                                .offers = offers};

}  // namespace kernels::matmul
