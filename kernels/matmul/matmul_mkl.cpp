// Idea: MKL as it is found: sgemm, dgemm, gemm_bf16bf16f32, gemm_s8u8s32; gemv at M = 1.
// Bound: packs inside the call. Its int8 product takes unsigned activations: ours are shifted by
// 128 in the call, which its offset of A takes back.
// A peer, not a rung.
#include "kernels/cpu_features.hpp"
#include "kernels/matmul/matmul_blas.hpp"

namespace kernels::matmul {
namespace {

constexpr int kFixedOffset = 173;  // CblasFixOffset

/// z = (x + offset) . y
void shifted_gemm(const Plan& plan, const std::uint8_t* x, std::int8_t offset, const std::int8_t* y,
                  std::int32_t* z) {
  const auto& blas = peers::mkl();
  blas.set_threads(plan.threads);
  const int m = static_cast<int>(plan.shape.m), n = static_cast<int>(plan.shape.n),
            k = static_cast<int>(plan.shape.k);
  const std::int32_t zero = 0;
  blas.s8u8s32_gemm(peers::kRowMajor, peers::kNoTrans, peers::kNoTrans, kFixedOffset, m, n, k, 1, x,
                    k, offset, y, n, 0, 0, z, n, &zero);
}

void u8(const Plan& plan, const std::uint8_t* x, const std::int8_t* y, const float*,
        std::int32_t* z) {
  shifted_gemm(plan, x, 0, y, z);
}

void s8(const Plan& plan, const std::int8_t* x, const std::int8_t* y, const float*,
        std::int32_t* z) {
  auto* shifted = static_cast<std::uint8_t*>(plan.workspace);
  const std::int64_t count = plan.shape.m * plan.shape.k;
#pragma omp parallel for num_threads(plan.threads)
  for (std::int64_t i = 0; i < count; ++i)
    shifted[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(x[i]) ^ 0x80u);
  shifted_gemm(plan, shifted, -128, y, z);
}

/// No batches in int8: one row by 4096 x 4096 weights takes 35 to 68 ms, where memory gives them in
/// 0.7, and 16 of them a second, which would tell nothing new.
bool offers(std::string_view dtype, const Shape& s, int) {
  const bool int8 = dtype == "s8" || dtype == "u8xs8";
  if (int8 && s.batch > 1) return false;
  const auto& blas = peers::mkl();
  if (!blas.missing.empty()) return true;
  return (dtype != "bf16" || blas.bf16_gemm != nullptr) && (!int8 || blas.s8u8s32_gemm != nullptr);
}

}  // namespace

extern const Kernel mkl = {
    .exec_unit = "",
    .f64 = f64_routine<peers::mkl>(),
    .f32 = f32_routine<peers::mkl>(),
    .bf16_f32 = bf16_routine<peers::mkl>(),
    .s8_s32 = {.run = s8,
               .workspace_bytes = [](const Plan& plan) { return plan.shape.m * plan.shape.k; },
               .open = check_sizes},
    .u8_s8 = {.run = u8, .open = check_sizes},
    .bf16_roof = cpu_features().avx512_bf16 ? "bf16" : "f32",
    .label = [] { return peers::mkl().label; },
    .offers = offers};

}  // namespace kernels::matmul
