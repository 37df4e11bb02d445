// AVX512-VNNI: four byte products a 32-bit lane in one instruction (vpdpbusd).
#pragma once

#include "kernels/simd/avx512.hpp"

namespace kernels {
namespace {

struct Avx512Vnni {
  static constexpr const char* kUnit = "simd-avx512-vnni";

  /// Signed bytes on an instruction that takes unsigned times signed: with u = x + 128 (flip the
  /// top bit), sum x*y = sum u*y - sum 128*y, and both sums are exact in 32 bits. The second costs
  /// one more vpdpbusd, which still fits in the cycle that loading x and y takes.
  struct S8 {
    struct V {
      __m512i shifted, excess;
    };
    static constexpr int kWidth = 64;
    /// Steps between two sums: each adds at most 4 * 255 * 128 to a lane, 2^14 stay below 2^31.
    static constexpr int kMaxSteps = 1 << 14;
    static V zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
    static V dot(V acc, const std::int8_t* x, const std::int8_t* y) {
      const __m512i top = _mm512_set1_epi8(-128);
      __m512i b = _mm512_loadu_si512(y);
      opaque(b);  // or GCC loads it twice, as a memory operand
      acc = {_mm512_dpbusd_epi32(acc.shifted, _mm512_xor_si512(_mm512_loadu_si512(x), top), b),
             _mm512_dpbusd_epi32(acc.excess, top, b)};
      opaque(acc.shifted), opaque(acc.excess);  // or GCC moves sums from register to register
      return acc;
    }
    static V add(V a, V b) {
      return {Avx512::S8::add(a.shifted, b.shifted), Avx512::S8::add(a.excess, b.excess)};
    }
    static std::int64_t sum(V v) { return Avx512::S8::sum(v.shifted) - Avx512::S8::sum(v.excess); }
  };
};

}  // namespace
}  // namespace kernels
