// The AVX2 engines of matmul.
#pragma once

#include "kernels/matmul/matmul_engine.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::matmul {
namespace {

/// int8 as pairs of 16-bit values: vpmaddwd multiplies them exactly and adds the pair into 32 bits.
/// vpmaddubsw would take twice the values, but it saturates its 16-bit sums: 2 * 128 * 128 does not
/// fit, so it is wrong for some inputs. NOTES.md, "Tiles and widening of the engines".
template <class XT>
struct Int8Avx2 {
  using X = XT;
  using Y = std::int8_t;
  using Z = std::int32_t;
  using Xp = std::int16_t;
  using Yp = std::int8_t;
  using V = __m256i;
  using W = __m256i;
  static constexpr int kRows = 6, kVectors = 2, kLanes = 8, kGroup = 2, kChunk = 16, kHeader = 0;

  static V zero() { return _mm256_setzero_si256(); }
  static V first(const Xp*, int) { return zero(); }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = widen(y);
    w[1] = widen(y + 16);
  }
  static V add(V a, V b) { return _mm256_add_epi32(a, b); }
  static V load_sums(const Z* z) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(z)); }
  static V broadcast(const void* group) {
    std::int32_t lane;
    __builtin_memcpy(&lane, group, sizeof lane);
    return _mm256_set1_epi32(lane);
  }
  static V step(V acc, W y, V x) { return _mm256_add_epi32(acc, _mm256_madd_epi16(x, y)); }
  static void put(Z* z, V acc, bool accumulate, const float*, int) {
    auto* to = reinterpret_cast<__m256i*>(z);
    _mm256_storeu_si256(to, accumulate ? _mm256_add_epi32(acc, _mm256_loadu_si256(to)) : acc);
  }
  static __m256i widen(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static __m256i widen(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void pack_x(const X* x, Xp* out) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), widen(x));
  }
  static void load_rows(const Y* y, std::int64_t ldy, W (&w)[2]) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y + ldy));
    w[0] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(a, b));
    w[1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(a, b));
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(y + ldy));
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(to, _mm_unpacklo_epi8(a, b));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi8(a, b));
  }
};

template <class F, class X, class Y>
using FloatAvx2 = FloatEngine<F, X, Y, 6, 2>;

}  // namespace
}  // namespace kernels::matmul
