// Idea: twelve chains of sdot, 16 products each. Untuned: has run under emulation only.
// Bound: the SIMD pipes that have it.
// Gains over widening multiplies: four products a lane in one instruction.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/neon_dotprod.hpp"

namespace kernels::fma_peak {
namespace {

double dot_chains(std::int64_t iterations, int one) {
  return run_chains(
      iterations, vdupq_n_s32(0), vdupq_n_s8(static_cast<std::int8_t>(one)),
      [](int32x4_t acc, int8x16_t x) { return vdotq_s32(acc, x, x); },
      [](int32x4_t acc) { return static_cast<double>(vaddlvq_s32(acc)); });
}

}  // namespace

extern const Kernel neon_dotprod = {.exec_unit = NeonDotprod::kUnit,
                                    .s8 = {dot_chains, 2.0 * kChainsOf<sizeof(int32x4_t)> * 16}};

}  // namespace kernels::fma_peak
