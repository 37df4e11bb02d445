// Activations as whole numbers for products of int8: a row of bf16 in units of a power of two, of
// 15 bits with their sign, which are two bytes. Numbers within 1/64 of their row's largest are
// exact, smaller ones are off by up to 2^-14 of it: for one that is 32 times smaller than that, as
// much as rounding it to bf16 was.
#pragma once

#include "kernels/simd/avx512.hpp"

namespace kernels::matmul {
namespace {

/// How far a number may be rounded, as a share of the largest of its row.
constexpr double kUnitRounding = 0x1p-14;

/// The largest magnitude of n numbers, n a multiple of 32: of bf16 without their signs, that of the
/// largest bits.
inline float largest(const bf16* x, std::int64_t n) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i most = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < n; i += 32)
    most = _mm512_max_epu16(most, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
  alignas(64) bf16 each[32];
  _mm512_store_si512(each, most);
  return Avx512::F32::max_of(
      Avx512::F32::max(Avx512::F32::load(each), Avx512::F32::load(each + 16)));
}

/// The units of n numbers, 2^exponent: 2^14 (1 - 2^-8) + 128 is the largest that the high byte then
/// holds. Below 2^-100 the units end, whose inverse is to be a normal number.
inline float unit_of(const bf16* x, std::int64_t n) {
  constexpr int kBits = 13, kLeast = -100;
  const std::int64_t whole = n / 32 * 32;
  bf16 rest[32] = {};
  __builtin_memcpy(rest, x + whole, static_cast<std::size_t>(n - whole) * sizeof(bf16));
  const float most = __builtin_fmaxf(largest(x, whole), largest(rest, 32));
  const int exponent = most > 0x1p-100f ? __builtin_ilogbf(most) : kLeast;
  return __builtin_ldexpf(1.0f, exponent - kBits);
}

/// 32 numbers as 16-bit integers, in units of which 1 is `inverse`.
inline __m512i in_units(const bf16* x, float inverse) {
  const __m512 units = _mm512_set1_ps(inverse);
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const auto whole = [&](__m512i floats) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_castsi512_ps(floats), units));
  };
  const __m512i pairs = _mm512_loadu_si512(x);
  const __m512i even = whole(_mm512_slli_epi32(pairs, 16));
  const __m512i odd = whole(_mm512_and_si512(pairs, upper));
  return _mm512_ternarylogic_epi32(even, _mm512_slli_epi32(odd, 16), upper, 0xd8);
}

/// 32 of them as high and low bytes, 256 high + low.
inline void split(__m512i units, std::int8_t* high, std::int8_t* low) {
  const __m512i above = _mm512_srai_epi16(_mm512_add_epi16(units, _mm512_set1_epi16(128)), 8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(high), _mm512_cvtepi16_epi8(above));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(low), _mm512_cvtepi16_epi8(units));
}

}  // namespace
}  // namespace kernels::matmul
