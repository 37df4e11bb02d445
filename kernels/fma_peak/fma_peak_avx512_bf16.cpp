// Idea: 24 chains of vdpbf16ps, 32 products each.
// Bound: the pipes that have it: two on Zen 4 and later, one on some Intel cores.
// Gains over avx512 in fp32: two products a lane.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::fma_peak {
namespace {

double dot_chains(std::int64_t iterations, int one) {
  const auto pair = (__m512bh)_mm512_set1_epi16(static_cast<short>(one * 0x3f80));  // 1.0 in bf16
  return run_chains(
      iterations, _mm512_setzero_ps(), pair,
      [](__m512 acc, __m512bh x) { return _mm512_dpbf16_ps(acc, x, x); },
      [](__m512 acc) { return static_cast<double>(_mm512_reduce_add_ps(acc)); });
}

}  // namespace

extern const Kernel avx512_bf16 = {.exec_unit = Avx512Bf16::kUnit,
                                   .bf16 = {dot_chains, 2.0 * kChainsOf<sizeof(__m512)> * 32}};

}  // namespace kernels::fma_peak
