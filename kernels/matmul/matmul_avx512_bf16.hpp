// The AVX512-BF16 engine of matmul: pairs of K in a 32-bit lane of a panel.
#pragma once

#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::matmul {
namespace {

/// 16 columns of two rows of int8 as pairs of bf16. Whole numbers up to 128 have the same upper
/// half in fp32 and nothing in the lower.
inline __m512 widened_pairs(const std::int8_t* even, const std::int8_t* odd) {
  const auto floats = [](const std::int8_t* p) {
    return _mm512_castps_si512(Avx512::F32::load(p));
  };
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  return _mm512_castsi512_ps(
      _mm512_ternarylogic_epi32(_mm512_srli_epi32(floats(even), 16), floats(odd), upper, 0xf8));
}

template <class YT>
struct Bf16Engine {
  using X = bf16;
  using Y = YT;
  using Z = float;
  using Xp = bf16;
  using Yp = bf16;
  using V = __m512;
  using W = __m512;
  static constexpr int kRows = 14, kVectors = 2, kLanes = 16, kGroup = 2, kChunk = 32, kHeader = 0;

  static V zero() { return _mm512_setzero_ps(); }
  static V first(const Xp*, int) { return zero(); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = _mm512_loadu_ps(y);
    w[1] = _mm512_loadu_ps(y + 32);
  }
  static V broadcast(const Xp* x) {
    float pair;
    __builtin_memcpy(&pair, x, sizeof pair);
    return _mm512_set1_ps(pair);
  }
  static V step(V acc, W y, V x) { return Avx512Bf16::BF16::dot(acc, x, y); }
  static void put(Z* z, V acc, bool accumulate, const float* scales, int column) {
    FloatAvx512<Avx512::F32, float, float>::put(z, acc, accumulate, scales, column);
  }
  static void pack_x(const X* x, Xp* out) { _mm512_storeu_si512(out, _mm512_loadu_si512(x)); }

  static __m512i row(const bf16* y) { return _mm512_loadu_si512(y); }
  /// Whole numbers up to 128 have the same upper half in fp32 and nothing in the lower.
  static __m512i row(const std::int8_t* y) {
    const auto sixteen = [](const std::int8_t* p) {
      const __m512i f = _mm512_castps_si512(Avx512::F32::load(p));
      return _mm512_cvtepi32_epi16(_mm512_srli_epi32(f, 16));
    };
    return _mm512_inserti64x4(_mm512_castsi256_si512(sixteen(y)), sixteen(y + 16), 1);
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    const __m512i a = row(y), b = row(y + ldy);
    // Within each quarter: columns 0-3 and 4-7 as pairs; then the quarters in the columns' order.
    const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
    const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(low, left, high));
    _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi64(low, right, high));
  }
};

/// Rows of Y where they lie.
template <class YT>
struct Bf16Rows : Bf16Engine<YT> {
  using W = __m512;
  static __m512 load_sums(const float* z) { return _mm512_loadu_ps(z); }
  /// Unpacking leaves fours in a vector that are 16 bytes apart; so columns are spread out before.
  static void load_rows(const bf16* y, std::int64_t ldy, W (&w)[2]) {
    const __m512i spread = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const __m512i a = _mm512_permutexvar_epi64(spread, _mm512_loadu_si512(y)),
                  b = _mm512_permutexvar_epi64(spread, _mm512_loadu_si512(y + ldy));
    w[0] = _mm512_castsi512_ps(_mm512_unpacklo_epi16(a, b));
    w[1] = _mm512_castsi512_ps(_mm512_unpackhi_epi16(a, b));
  }
  static void load_rows(const std::int8_t* y, std::int64_t ldy, W (&w)[2]) {
    for (int v = 0; v < 2; ++v) w[v] = widened_pairs(y + v * 16, y + ldy + v * 16);
  }
};

}  // namespace
}  // namespace kernels::matmul
