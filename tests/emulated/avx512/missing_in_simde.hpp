// What the kernels use and SIMDe 0.7.4 has not, or has wrong. Written with vector extensions, one
// line each, from the pseudo-code of Intel's intrinsics guide.
#pragma once

#include <cstring>

namespace emulated {

template <class To, class From>
inline To bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class Lane, int kLanes>
struct Vector {
  typedef Lane Type __attribute__((vector_size(sizeof(Lane) * kLanes)));
};
/// Converts every lane of `from` (kLanes lanes of From) to To.
template <class From, class To, int kLanes, class Out, class In>
inline Out convert(const In& from) {
  using Source = typename Vector<From, kLanes>::Type;
  using Target = typename Vector<To, kLanes>::Type;
  return bits<Out>(__builtin_convertvector(bits<Source>(from), Target));
}

inline __m512i cvtepi8_epi32(__m128i v) { return convert<signed char, int, 16, __m512i>(v); }
inline __m512i cvtepu16_epi32(__m256i v) { return convert<unsigned short, int, 16, __m512i>(v); }
inline __m512 cvtepi32_ps(__m512i v) { return convert<int, float, 16, __m512>(v); }
inline __m256i cvtepi32_epi16(__m512i v) { return convert<int, short, 16, __m256i>(v); }
inline __m128i cvtepi32_epi8(__m512i v) { return convert<int, signed char, 16, __m128i>(v); }
/// With copies of the sign from the left.
inline __m512i srai_epi32(__m512i v, int n) {
  using Lanes = Vector<int, 16>::Type;
  return bits<__m512i>(bits<Lanes>(v) >> n);
}
/// To the nearest, ties to even, as the AVX instruction.
inline __m512i cvtps_epi32(__m512 v) {
  __m256 halves[2];
  std::memcpy(halves, &v, sizeof v);
  const __m256i rounded[2] = {_mm256_cvtps_epi32(halves[0]), _mm256_cvtps_epi32(halves[1])};
  return bits<__m512i>(rounded);
}
/// 16 lanes from lane `n` of `low`, followed by `high`.
inline __m512i alignr_epi32(__m512i high, __m512i low, int n) {
  int both[32];
  std::memcpy(both, &low, sizeof low), std::memcpy(both + 16, &high, sizeof high);
  __m512i out;
  std::memcpy(&out, both + n % 16, sizeof out);
  return out;
}
/// To bf16, to the nearest, ties to even: first `low`, then `high`. Denormals become zero.
inline __m512bh cvtne2ps_pbh(__m512 high, __m512 low) {
  unsigned int lanes[32];
  std::memcpy(lanes, &low, sizeof low), std::memcpy(lanes + 16, &high, sizeof high);
  unsigned short rounded[32];
  for (int i = 0; i < 32; ++i) {
    const bool denormal = (lanes[i] & 0x7f800000u) == 0;
    const unsigned int up = 0x7fffu + (lanes[i] >> 16 & 1);
    rounded[i] =
        static_cast<unsigned short>(denormal ? lanes[i] >> 16 & 0x8000u : (lanes[i] + up) >> 16);
  }
  return bits<__m512bh>(rounded);
}
/// v less itself rounded down to a whole number, the only rounding in use.
inline __m512 reduce_ps(__m512 v, int rounding) {
  if (rounding != (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)) __builtin_trap();
  float lanes[16];
  std::memcpy(lanes, &v, sizeof v);
  for (float& x : lanes) x -= __builtin_floorf(x);
  return bits<__m512>(lanes);
}
/// In each quarter lane i = its lane `order >> 2 i & 3`.
inline __m512 permute_ps(__m512 v, int order) {
  float from[16], to[16];
  std::memcpy(from, &v, sizeof v);
  for (int i = 0; i < 16; ++i) to[i] = from[i / 4 * 4 + (order >> i % 4 * 2 & 3)];
  return bits<__m512>(to);
}
inline __m256 extractf32x8_ps(__m512 v, int half) {
  __m256 halves[2];
  std::memcpy(halves, &v, sizeof v);
  return halves[half];
}
/// Halves are added until one lane is left, as the intrinsic's own sequence does.
template <class Lane, class V, class F>
inline Lane reduce(V v, F combine) {
  constexpr int kLanes = sizeof(V) / sizeof(Lane);
  Lane lane[kLanes];
  std::memcpy(lane, &v, sizeof v);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] = combine(lane[i], lane[i + half]);
  return lane[0];
}
template <class Lane, class V>
inline Lane reduce_add(V v) {
  return reduce<Lane>(v, [](Lane a, Lane b) { return a + b; });
}
template <class Lane, class V>
inline Lane reduce_max(V v) {
  return reduce<Lane>(v, [](Lane a, Lane b) { return a > b ? a : b; });
}

}  // namespace emulated

#define _mm512_cvtepi8_epi32(v) emulated::cvtepi8_epi32(v)
#define _mm512_cvtepu16_epi32(v) emulated::cvtepu16_epi32(v)
#define _mm512_cvtepi32_ps(v) emulated::cvtepi32_ps(v)
#define _mm512_cvtps_epi32(v) emulated::cvtps_epi32(v)
#define _mm512_cvtepi32_epi8(v) emulated::cvtepi32_epi8(v)
#define _mm512_srai_epi32(v, n) emulated::srai_epi32(v, n)
#define _mm512_cvtepi32_epi16(v) emulated::cvtepi32_epi16(v)
#define _mm512_alignr_epi32(high, low, n) emulated::alignr_epi32(high, low, n)
#undef _mm512_cvtne2ps_pbh
#define _mm512_cvtne2ps_pbh(high, low) emulated::cvtne2ps_pbh(high, low)
#define _mm512_reduce_ps(v, rounding) emulated::reduce_ps(v, rounding)
#define _mm512_permute_ps(v, order) emulated::permute_ps(v, order)
#define _mm512_extractf32x8_ps(v, half) emulated::extractf32x8_ps(v, half)
#define _mm512_reduce_add_ps(v) emulated::reduce_add<float>(v)
#define _mm512_reduce_add_pd(v) emulated::reduce_add<double>(v)
#define _mm512_reduce_add_epi32(v) emulated::reduce_add<int>(v)
#define _mm512_reduce_max_ps(v) emulated::reduce_max<float>(v)
#define _mm512_stream_ps(p, v) _mm512_store_ps(p, v)
#define _mm512_stream_pd(p, v) _mm512_store_pd(p, v)
#define _mm512_stream_si512(p, v) _mm512_store_si512(p, v)

// Without an alias.
#undef _mm512_shuffle_f32x4
#define _mm512_shuffle_f32x4(a, b, imm8) simde_mm512_shuffle_f32x4(a, b, imm8)

// SIMDe's alias takes four arguments, those of the masked intrinsic.
#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)
