// Integers in vectors of 512 bits: bytes of four rows side by side, and sums across vectors.
#pragma once

#include <immintrin.h>

namespace kernels {
namespace {

/// Four rows of 64 bytes as four vectors whose 32-bit lanes have one column of all rows each, those
/// of a quarter's 16 columns in order: vector i has columns 4 i to 4 i + 3 of each quarter.
[[gnu::always_inline]] inline void interleave_bytes(const __m512i (&rows)[4], __m512i (&out)[4]) {
  const __m512i low_a = _mm512_unpacklo_epi8(rows[0], rows[1]),
                high_a = _mm512_unpackhi_epi8(rows[0], rows[1]),
                low_b = _mm512_unpacklo_epi8(rows[2], rows[3]),
                high_b = _mm512_unpackhi_epi8(rows[2], rows[3]);
  out[0] = _mm512_unpacklo_epi16(low_a, low_b);
  out[1] = _mm512_unpackhi_epi16(low_a, low_b);
  out[2] = _mm512_unpacklo_epi16(high_a, high_b);
  out[3] = _mm512_unpackhi_epi16(high_a, high_b);
}

/// In each quarter, of four vectors the sums of its 32-bit lanes, one a lane.
[[gnu::always_inline]] inline __m512i sums_in_quarters(const __m512i* v) {
  const auto pairs = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  };
  const __m512i ab = pairs(v[0], v[1]), cd = pairs(v[2], v[3]);
  return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

/// The even quarters of a and b plus their odd ones, those of a first.
[[gnu::always_inline]] inline __m512i add_quarters(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

}  // namespace
}  // namespace kernels
