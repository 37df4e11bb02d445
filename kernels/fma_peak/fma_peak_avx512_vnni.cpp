// Idea: 24 chains of vpdpbusd, 64 products each.
// Bound: the pipes that have it: two on Zen 4 and later and on Intel servers.
// Gains over avx512 in int8: twice the products and no separate add.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::fma_peak {
namespace {

double dot_chains(std::int64_t iterations, int one) {
  return run_chains(
      iterations, _mm512_setzero_si512(), _mm512_set1_epi8(static_cast<char>(one)),
      [](__m512i acc, __m512i x) { return _mm512_dpbusd_epi32(acc, x, x); },
      [](__m512i acc) { return static_cast<double>(Avx512::S8::sum(acc)); });
}

double split_chains(std::int64_t iterations, int one) { return dot_chains(iterations, one) / 2; }

}  // namespace

extern const Kernel avx512_vnni = {
    .exec_unit = Avx512Vnni::kUnit,
    .s8 = {dot_chains, 2.0 * kChainsOf<sizeof(__m512i)> * 64},
    .bf16_s8 = {split_chains, 2.0 * kChainsOf<sizeof(__m512i)> * 32}};

}  // namespace kernels::fma_peak
