// The AVX512-VNNI engine of matmul: fours of K in a 32-bit lane of a panel.
#pragma once

#include "kernels/matmul/matmul_avx512.hpp"

namespace kernels::matmul {
namespace {

/// vpdpbusd takes unsigned times signed: a signed X goes in as x + 128, and sum (x + 128) y = sum x
/// y + 128 sum y. A panel of Y carries -128 sum y of its columns at its head, from which the sums
/// start. Sums may wrap on the way: they are exact modulo 2^32, and the result fits.
template <class XT>
struct Int8Vnni : Int32SumsAvx512 {
  using X = XT;
  using Y = std::int8_t;
  using Xp = std::uint8_t;
  using Yp = std::int8_t;
  static constexpr bool kSigned = std::is_signed_v<XT>;
  static constexpr int kGroup = 4, kChunk = 64, kHeader = kSigned ? 128 : 0;

  static V first(const Yp* panel, int v) {
    return kSigned ? _mm512_loadu_si512(panel + v * 64) : zero();
  }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = _mm512_loadu_si512(y);
    w[1] = _mm512_loadu_si512(y + 64);
  }
  static V broadcast(const Xp* x) { return broadcast_lane(x); }
  static V step(V acc, W y, V x) { return _mm512_dpbusd_epi32(acc, x, y); }
  static void pack_x(const X* x, Xp* out) {
    const __m512i values = _mm512_loadu_si512(x);
    _mm512_storeu_si512(out, kSigned ? _mm512_xor_si512(values, _mm512_set1_epi8(-128)) : values);
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* header, Yp* out) {
    __m256i top[2], bottom[2];
    interleave(y, y + ldy, top[0], top[1]);
    interleave(y + 2 * ldy, y + 3 * ldy, bottom[0], bottom[1]);
    for (int v = 0; v < 2; ++v) {
      // Byte pairs of rows 0, 1 and of rows 2, 3 become fours.
      const __m256i low = _mm256_unpacklo_epi16(top[v], bottom[v]);
      const __m256i high = _mm256_unpackhi_epi16(top[v], bottom[v]);
      const __m512i w =
          _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_permute2x128_si256(low, high, 0x20)),
                             _mm256_permute2x128_si256(low, high, 0x31), 1);
      _mm512_storeu_si512(out + v * 64, w);
      if constexpr (!kSigned) continue;
      const __m512i excess = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(-128), w);
      _mm512_storeu_si512(header + v * 64,
                          _mm512_sub_epi32(_mm512_loadu_si512(header + v * 64), excess));
    }
  }
};

}  // namespace
}  // namespace kernels::matmul
