// Arm bf16 instructions (FEAT_BF16): products of bf16 pairs added into fp32 lanes (bfdot).
// Untuned: has run under emulation only.
#pragma once

#include "kernels/simd/neon.hpp"

namespace kernels {
namespace {

struct NeonBf16 {
  static constexpr const char* kUnit = "simd-neon-bf16";

  /// Every lane adds two products a step; they are rounded to odd and denormals are flushed to zero
  /// (Arm ARM, BFDOT).
  struct BF16 {
    using V = float32x4_t;
    static constexpr int kWidth = 8;
    static V zero() { return vdupq_n_f32(0); }
    static V load(const bf16* p) {
      return vreinterpretq_f32_u16(vld1q_u16(reinterpret_cast<const std::uint16_t*>(p)));
    }
    static V dot(V acc, V x, V y) { return vbfdotq_f32(acc, pairs(x), pairs(y)); }
    static V dot(V acc, const bf16* x, const bf16* y) { return dot(acc, load(x), load(y)); }
    static V add(V a, V b) { return vaddq_f32(a, b); }
    static float sum(V v) { return vaddvq_f32(v); }

   private:
    static bfloat16x8_t pairs(V v) { return vreinterpretq_bf16_f32(v); }
  };
};

}  // namespace
}  // namespace kernels
