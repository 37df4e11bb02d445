// Idea: twelve chains of 256-bit multiply-adds; int8 by vpmaddwd and vpaddd on sign-extended pairs,
// the fastest exact way that AVX2 has.
// Bound: two FMA pipes; vpmaddwd likewise, its add on the other pipes. On Zen 3 the pair reaches
// 1.63 a cycle in whatever order, and two only for either half: the share stays near 0.8.
// Gains over avx2_scalar: the vector width.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::fma_peak {
namespace {

double madd_chains(std::int64_t iterations, int one) {
  return run_chains(
      iterations, _mm256_setzero_si256(), _mm256_set1_epi16(static_cast<short>(one)),
      [](__m256i acc, __m256i& x) {
        opaque(x);  // or the product, the same in every chain, is computed once
        return _mm256_add_epi32(acc, _mm256_madd_epi16(x, x));
      },
      [](__m256i acc) { return static_cast<double>(Avx2::S8::sum(acc)); });
}

}  // namespace

extern const Kernel avx2 = {.exec_unit = Avx2::kUnit,
                            .f64 = fma_chain<Avx2::F64>(),
                            .f32 = fma_chain<Avx2::F32>(),
                            .s8 = {madd_chains, 2.0 * kChainsOf<sizeof(__m256i)> * 16}};

}  // namespace kernels::fma_peak
