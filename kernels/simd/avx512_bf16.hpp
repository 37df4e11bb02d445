// AVX512-BF16: products of bf16 pairs added into fp32 lanes (vdpbf16ps).
#pragma once

#include "kernels/simd/avx512.hpp"

namespace kernels {
namespace {

struct Avx512Bf16 {
  static constexpr const char* kUnit = "simd-avx512-bf16";

  /// Every lane adds two products a step. The instruction rounds to nearest whatever MXCSR says and
  /// flushes denormals to zero, in and out (Intel SDM, VDPBF16PS).
  struct BF16 {
    using V = __m512;
    static constexpr int kWidth = 32;
    static V zero() { return _mm512_setzero_ps(); }
    static V load(const bf16* p) { return _mm512_castsi512_ps(_mm512_loadu_si512(p)); }
    static V dot(V acc, V x, V y) { return _mm512_dpbf16_ps(acc, pairs(x), pairs(y)); }
    static V dot(V acc, const bf16* x, const bf16* y) { return dot(acc, load(x), load(y)); }
    static V add(V a, V b) { return _mm512_add_ps(a, b); }
    static float sum(V v) { return _mm512_reduce_add_ps(v); }

   private:
    static __m512bh pairs(V v) { return reinterpret_cast<__m512bh>(v); }
  };
};

}  // namespace
}  // namespace kernels
