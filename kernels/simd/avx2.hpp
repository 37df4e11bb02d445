// 256-bit vectors: the few operations that the SIMD kernels are written in. In an unnamed
// namespace, because a function compiled with -mavx2 must never be merged with one that was not.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/dtype.hpp"

namespace kernels {
namespace {

struct Avx2 {
  static constexpr const char* kUnit = "simd-avx2";

  struct F64 {
    using T = double;
    using V = __m256d;
    static constexpr int kWidth = 4;
    static V zero() { return _mm256_setzero_pd(); }
    static V set1(double x) { return _mm256_set1_pd(x); }
    static V load(const double* p) { return _mm256_loadu_pd(p); }
    static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
    static void stream(double* p, V v) { _mm256_stream_pd(p, v); }
    static V add(V a, V b) { return _mm256_add_pd(a, b); }
    static V mul(V a, V b) { return _mm256_mul_pd(a, b); }
    static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
    /// acc += a b where acc lies. Where values are many, GCC takes the forms of the instruction
    /// that overwrite a factor, and moves sums back and forth.
    static void accumulate(V& acc, V a, V b) {
      asm volatile("vfmadd231pd %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
    }
    static double sum(V v) {
      const __m128d h = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
      return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
    }
  };

  struct F32 {
    using T = float;
    using V = __m256;
    static constexpr int kWidth = 8;
    static V zero() { return _mm256_setzero_ps(); }
    static V set1(float x) { return _mm256_set1_ps(x); }
    static V load(const float* p) { return _mm256_loadu_ps(p); }
    static V load(const bf16* p) {
      const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
    }
    static V load(const std::int8_t* p) {
      const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
      return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b));
    }
    static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
    static void stream(float* p, V v) { _mm256_stream_ps(p, v); }
    static V add(V a, V b) { return _mm256_add_ps(a, b); }
    static V mul(V a, V b) { return _mm256_mul_ps(a, b); }
    static V max(V a, V b) { return _mm256_max_ps(a, b); }
    static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
    /// As in F64.
    static void accumulate(V& acc, V a, V b) {
      asm volatile("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b));
    }
    static V sub(V a, V b) { return _mm256_sub_ps(a, b); }
    static V exclusive_or(V a, V b, V c) { return _mm256_xor_ps(_mm256_xor_ps(a, b), c); }
    /// v less the whole number below it.
    static V fraction(V v) { return sub(v, _mm256_floor_ps(v)); }
    /// y times 2 to the power of the whole number below v, which is in [-126, 127].
    static V times_pow2(V y, V v) {
      const __m256i whole = _mm256_cvtps_epi32(_mm256_floor_ps(v)),
                    biased = _mm256_add_epi32(whole, _mm256_set1_epi32(127));
      return mul(y, _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23)));
    }
    /// Lane i gets lane i + n, around the end.
    template <int n>
    static V rotate(V v) {
      const __m256i from = _mm256_and_si256(
          _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(n)),
          _mm256_set1_epi32(7));
      return _mm256_permutevar8x32_ps(v, from);
    }
    /// Lane i gets p[i / times], `times` a power of two; reads kWidth values.
    template <int times>
    static V spread(const float* p) {
      const __m256i from = _mm256_srlv_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                             _mm256_set1_epi32(__builtin_ctz(times)));
      return _mm256_permutevar8x32_ps(load(p), from);
    }
    /// p[0..3] = the sums of a, b, c and d.
    static void store_sums(float* p, V a, V b, V c, V d) {
      // Unpacking costs a quarter of vhaddps.
      const V ab = add(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
      const V cd = add(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
      const V s =
          add(_mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))),
              _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))));
      _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
    }
    /// 16 values as two vectors: the even ones, then the odd ones. One load and two cheap
    /// operations where two widening loads would cost four.
    static void load_even_odd(const bf16* p, V& even, V& odd) {
      even_odd(load_pairs(p), even, odd);
    }
    /// 16 values at `p`, the first half to the even places of `out` and the second to the odd ones:
    /// what load_even_odd() takes apart again.
    static void store_even_odd(const bf16* p, bf16* out) {
      const auto words = [](const bf16* half) {
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half)));
      };
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                          _mm256_or_si256(words(p), _mm256_slli_epi32(words(p + kWidth), 16)));
    }
    static V load_pairs(const bf16* p) {
      return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static void even_odd(V pairs, V& even, V& odd) {
      const __m256i w = _mm256_castps_si256(pairs);
      even = _mm256_castsi256_ps(_mm256_slli_epi32(w, 16));
      odd = _mm256_castsi256_ps(
          _mm256_and_si256(w, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
    }
    static float sum(V v) {
      __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
      h = _mm_add_ps(h, _mm_movehl_ps(h, h));
      return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
    }
    static float max_of(V v) {
      __m128 h = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
      h = _mm_max_ps(h, _mm_movehl_ps(h, h));
      return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
    }
  };

  /// Signed bytes multiplied in pairs into 32-bit lanes: 32 products a step, two vpmaddwd.
  struct S8 {
    using V = __m256i;
    static constexpr int kWidth = 32;
    /// Steps between two sums: each adds at most 4 * 128 * 128 to a lane.
    static constexpr int kMaxSteps = 1 << 14;
    static V zero() { return _mm256_setzero_si256(); }
    static V dot(V acc, const std::int8_t* x, const std::int8_t* y) {
      const auto widen = [](const std::int8_t* p) {
        return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
      };
      acc = _mm256_add_epi32(acc, _mm256_madd_epi16(widen(x), widen(y)));
      return _mm256_add_epi32(acc, _mm256_madd_epi16(widen(x + 16), widen(y + 16)));
    }
    static V add(V a, V b) { return _mm256_add_epi32(a, b); }
    static std::int64_t sum(V v) {
      const __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
                                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)));
      const __m128i h =
          _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
      return _mm_cvtsi128_si64(h) + _mm_extract_epi64(h, 1);
    }
  };
};

}  // namespace
}  // namespace kernels
