// The AVX-512 engines of matmul. Of 32 registers, 28 hold the 14 x 2 tile of sums, two a group of
// Y. NOTES.md, "Tiles and widening of the engines".
#pragma once

#include "kernels/matmul/matmul_engine.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::matmul {
namespace {

template <class F, class X, class Y>
using FloatAvx512 = FloatEngine<F, X, Y, 14, 2>;
/// Low and wide: 10 loads for 24 multiply-adds, in place of 16 for 28.
template <class F, class T>
using WideAvx512 = FloatEngine<F, T, T, 6, 4, typename F::T>;

/// Two rows of 32 bytes as 2 x 16 columns of byte pairs, in the order of the columns.
inline void interleave(const std::int8_t* a, const std::int8_t* b, __m256i& left, __m256i& right) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
  const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
  const __m256i low = _mm256_unpacklo_epi8(x, y), high = _mm256_unpackhi_epi8(x, y);
  left = _mm256_permute2x128_si256(low, high, 0x20);
  right = _mm256_permute2x128_si256(low, high, 0x31);
}

/// What the int8 engines share: sums of 32 bits.
struct Int32SumsAvx512 {
  using Z = std::int32_t;
  using V = __m512i;
  using W = __m512i;
  static constexpr int kRows = 14, kVectors = 2, kLanes = 16;

  static V zero() { return _mm512_setzero_si512(); }
  static V add(V a, V b) { return _mm512_add_epi32(a, b); }
  static V load_sums(const Z* z) { return _mm512_loadu_si512(z); }
  static void put(Z* z, V acc, bool accumulate, const float*, int) {
    _mm512_storeu_si512(z, accumulate ? _mm512_add_epi32(acc, _mm512_loadu_si512(z)) : acc);
  }
  template <class T>
  static V broadcast_lane(const T* x) {
    std::int32_t lane;
    __builtin_memcpy(&lane, x, sizeof lane);
    return _mm512_set1_epi32(lane);
  }
};

/// int8 as pairs of 16-bit values (vpmaddwd, exact; see Int8Avx2).
template <class XT>
struct Int8Avx512 : Int32SumsAvx512 {
  using X = XT;
  using Y = std::int8_t;
  using Xp = std::int16_t;
  using Yp = std::int8_t;
  static constexpr int kGroup = 2, kChunk = 32, kHeader = 0;

  static V first(const Xp*, int) { return zero(); }
  static V widen(const std::int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V widen(const std::uint8_t* p) {
    const auto sixteen = [](const std::uint8_t* q) {
      return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(sixteen(p)), sixteen(p + 16), 1);
  }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = widen(y);
    w[1] = widen(y + 32);
  }
  static V broadcast(const Xp* x) { return broadcast_lane(x); }
  static V step(V acc, W y, V x) { return _mm512_add_epi32(acc, _mm512_madd_epi16(x, y)); }
  static void pack_x(const X* x, Xp* out) { _mm512_storeu_si512(out, widen(x)); }
  static void load_rows(const Y* y, std::int64_t ldy, W (&w)[2]) {
    __m256i left, right;
    interleave(y, y + ldy, left, right);
    w[0] = _mm512_cvtepi8_epi16(left);
    w[1] = _mm512_cvtepi8_epi16(right);
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    __m256i left, right;
    interleave(y, y + ldy, left, right);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), left);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), right);
  }
};

}  // namespace
}  // namespace kernels::matmul
