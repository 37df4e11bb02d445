// Idea: twelve chains of bfdot, 8 products each. Untuned: has run under emulation only.
// Bound: the FMA pipes.
// Gains over neon in fp32: two products a lane.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/neon_bf16.hpp"

namespace kernels::fma_peak {
namespace {

double dot_chains(std::int64_t iterations, int one) {
  const auto pair = vreinterpretq_bf16_u16(vdupq_n_u16(static_cast<std::uint16_t>(one * 0x3f80)));
  return run_chains(
      iterations, vdupq_n_f32(0), pair,
      [](float32x4_t acc, bfloat16x8_t x) { return vbfdotq_f32(acc, x, x); },
      [](float32x4_t acc) { return static_cast<double>(vaddvq_f32(acc)); });
}

}  // namespace

extern const Kernel neon_bf16 = {.exec_unit = NeonBf16::kUnit,
                                 .bf16 = {dot_chains, 2.0 * kChainsOf<sizeof(float32x4_t)> * 8}};

}  // namespace kernels::fma_peak
