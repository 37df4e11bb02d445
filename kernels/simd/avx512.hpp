// 512-bit vectors (AVX-512 F, BW, DQ, VL): the interface of avx2.hpp. In an unnamed namespace,
// because a function compiled with -mavx512f must never be merged with one that was not.
#pragma once

// GCC 12 takes the "undefined" operand of its own AVX-512 intrinsics for a use of an uninitialised
// variable (gcc.gnu.org/PR105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels {
namespace {

struct Avx512 {
  static constexpr const char* kUnit = "simd-avx512";

  struct F64 {
    using T = double;
    using V = __m512d;
    static constexpr int kWidth = 8;
    static V zero() { return _mm512_setzero_pd(); }
    static V set1(double x) { return _mm512_set1_pd(x); }
    static V load(const double* p) { return _mm512_loadu_pd(p); }
    static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
    static void stream(double* p, V v) { _mm512_stream_pd(p, v); }
    static V add(V a, V b) { return _mm512_add_pd(a, b); }
    static V mul(V a, V b) { return _mm512_mul_pd(a, b); }
    static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
#ifdef __AVX512F__
    /// acc += a b where acc lies, as in Avx2.
    static void accumulate(V& acc, V a, V b) {
      asm volatile("vfmadd231pd %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    }
#endif
    static double sum(V v) { return _mm512_reduce_add_pd(v); }
  };

  struct F32 {
    using T = float;
    using V = __m512;
    static constexpr int kWidth = 16;
    static V zero() { return _mm512_setzero_ps(); }
    static V set1(float x) { return _mm512_set1_ps(x); }
    static V load(const float* p) { return _mm512_loadu_ps(p); }
    static V load(const bf16* p) {
      const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
    }
    static V load(const std::int8_t* p) {
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b));
    }
    static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
    static void stream(float* p, V v) { _mm512_stream_ps(p, v); }
    static V add(V a, V b) { return _mm512_add_ps(a, b); }
    static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
    static V div(V a, V b) { return _mm512_div_ps(a, b); }
    static V max(V a, V b) { return _mm512_max_ps(a, b); }
    static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
#ifdef __AVX512F__
    /// As in F64.
    static void accumulate(V& acc, V a, V b) {
      asm volatile("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    }
#endif
    static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
    static V exclusive_or(V a, V b, V c) {
      return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
          _mm512_castps_si512(a), _mm512_castps_si512(b), _mm512_castps_si512(c), 0x96));
    }
    /// v less the whole number below it.
    static V fraction(V v) {
      return _mm512_reduce_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    }
    /// y times 2 to the power of the whole number below v, which is in [-126, 127].
    static V times_pow2(V y, V v) { return _mm512_scalef_ps(y, v); }
    /// Lane i gets lane i + n, around the end.
    template <int n>
    static V rotate(V v) {
      const __m512i bits = _mm512_castps_si512(v);
      return _mm512_castsi512_ps(_mm512_alignr_epi32(bits, bits, n));
    }
    /// Lane i gets p[i / times], `times` 1, 2, 4 or 8. Reads no more than that, as a load that
    /// takes in several stores waits for all of them.
    template <int times>
    static V spread(const float* p) {
      if constexpr (times == 1) return load(p);
      const __m512i from =
          _mm512_srlv_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                            _mm512_set1_epi32(__builtin_ctz(times)));
      return _mm512_permutexvar_ps(from, load_first<16 / times>(p));
    }
    /// The first 2, 4, 8 or 16 values; the other lanes hold anything.
    template <int count>
    static V load_first(const float* p) {
      if constexpr (count == 16) return load(p);
      if constexpr (count == 8) return _mm512_castps256_ps512(_mm256_loadu_ps(p));
      if constexpr (count == 4) return _mm512_castps128_ps512(_mm_loadu_ps(p));
      if constexpr (count == 2)
        return _mm512_castps128_ps512(
            _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
    /// p[0..3] = the sums of a, b, c and d.
    static void store_sums(float* p, V a, V b, V c, V d) {
      const auto half = [](V v) {
        return _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
      };
      const __m256 s =
          _mm256_hadd_ps(_mm256_hadd_ps(half(a), half(b)), _mm256_hadd_ps(half(c), half(d)));
      _mm_storeu_ps(p, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
    }
    /// 32 values as two vectors: the even ones, then the odd ones.
    static void load_even_odd(const bf16* p, V& even, V& odd) {
      even_odd(load_pairs(p), even, odd);
    }
    /// 32 values at `p`, the first half to the even places of `out` and the second to the odd ones:
    /// what load_even_odd() takes apart again.
    static void store_even_odd(const bf16* p, bf16* out) {
      const auto words = [](const bf16* half) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(half)));
      };
      _mm512_storeu_si512(out, _mm512_or_si512(words(p), _mm512_slli_epi32(words(p + kWidth), 16)));
    }
    static V load_pairs(const bf16* p) { return _mm512_castsi512_ps(_mm512_loadu_si512(p)); }
    static void even_odd(V pairs, V& even, V& odd) {
      const __m512i w = _mm512_castps_si512(pairs);
      even = _mm512_castsi512_ps(_mm512_slli_epi32(w, 16));
      odd = _mm512_castsi512_ps(
          _mm512_and_si512(w, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
    }
    static float sum(V v) { return _mm512_reduce_add_ps(v); }
    static float max_of(V v) { return _mm512_reduce_max_ps(v); }
    /// The whole numbers nearest to v, below 2^15 - 128, as 256 high + low.
    static void store_halves(V v, std::int8_t* high, std::int8_t* low) {
      const __m512i value = _mm512_cvtps_epi32(v);
      const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(value, _mm512_set1_epi32(128)), 8);
      const auto put = [](std::int8_t* to, __m512i bytes) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(bytes));
      };
      put(high, upper);
      put(low, _mm512_sub_epi32(value, _mm512_slli_epi32(upper, 8)));
    }
  };

  /// Signed bytes multiplied in pairs into 32-bit lanes: 64 products a step, two vpmaddwd.
  struct S8 {
    using V = __m512i;
    static constexpr int kWidth = 64;
    /// Steps between two sums: each adds at most 4 * 128 * 128 to a lane.
    static constexpr int kMaxSteps = 1 << 14;
    static V zero() { return _mm512_setzero_si512(); }
    static V dot(V acc, const std::int8_t* x, const std::int8_t* y) {
      const auto widen = [](const std::int8_t* p) {
        return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
      };
      acc = _mm512_add_epi32(acc, _mm512_madd_epi16(widen(x), widen(y)));
      return _mm512_add_epi32(acc, _mm512_madd_epi16(widen(x + 32), widen(y + 32)));
    }
    static V add(V a, V b) { return _mm512_add_epi32(a, b); }
    static std::int64_t sum(V v) {
      const auto wide = [](__m256i half) {
        return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(half)),
                                _mm256_cvtepi32_epi64(_mm256_extracti128_si256(half, 1)));
      };
      const __m256i q =
          _mm256_add_epi64(wide(_mm512_castsi512_si256(v)), wide(_mm512_extracti64x4_epi64(v, 1)));
      const __m128i h = _mm_add_epi64(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
      return _mm_cvtsi128_si64(h) + _mm_extract_epi64(h, 1);
    }
  };
};

}  // namespace
}  // namespace kernels
