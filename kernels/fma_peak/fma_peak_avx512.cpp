// Idea: 24 chains of 512-bit multiply-adds; int8 by vpmaddwd and vpaddd as in avx2.
// Bound: the 512-bit FMA pipes: two, or one where two 256-bit ones are joined.
// Gains over avx2: the vector width.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::fma_peak {
namespace {

double madd_chains(std::int64_t iterations, int one) {
  return run_chains(
      iterations, _mm512_setzero_si512(), _mm512_set1_epi16(static_cast<short>(one)),
      [](__m512i acc, __m512i& x) {
        opaque(x);  // or the product, the same in every chain, is computed once
        return _mm512_add_epi32(acc, _mm512_madd_epi16(x, x));
      },
      [](__m512i acc) { return static_cast<double>(Avx512::S8::sum(acc)); });
}

/// `kToSix` adds to six multiply-adds: four for two pipes, eight for one.
template <int kToSix>
void adds() {
  using F = Avx512::F32;
  constexpr int kChains = 12;
  F::V acc[kChains], one = F::set1(1);
#pragma GCC unroll 12
  for (auto& v : acc) v = F::zero();
  std::uint64_t sum = 0, unit = 1;
  opaque(one);
  for (std::int64_t i = 0; i < kAdds / (2 * kToSix); ++i)
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) {
      acc[c] = F::fma(one, one, acc[c]);
      opaque(acc[c]);
#pragma GCC unroll 2
      for (int a = (c + 1) * kToSix / 6 - c * kToSix / 6; a > 0; --a) dependent_add(sum, unit);
    }
}

}  // namespace

extern const Kernel avx512 = {.exec_unit = Avx512::kUnit,
                              .f64 = fma_chain<Avx512::F64>(),
                              .f32 = fma_chain<Avx512::F32>(),
                              .s8 = {madd_chains, 2.0 * kChainsOf<sizeof(__m512i)> * 32},
                              .adds = {adds<4>, adds<8>}};

}  // namespace kernels::fma_peak
