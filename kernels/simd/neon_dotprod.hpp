// Arm dot-product instructions (Armv8.2 FEAT_DotProd): four byte products a 32-bit lane (sdot).
// Untuned: has run under emulation only.
#pragma once

#include "kernels/simd/neon.hpp"

namespace kernels {
namespace {

struct NeonDotprod {
  static constexpr const char* kUnit = "simd-neon-dotprod";

  struct S8 {
    using V = int32x4_t;
    static constexpr int kWidth = 16;
    /// Steps between two sums: each adds at most 4 * 128 * 128 to a lane.
    static constexpr int kMaxSteps = 1 << 14;
    static V zero() { return vdupq_n_s32(0); }
    static V dot(V acc, const std::int8_t* x, const std::int8_t* y) {
      return vdotq_s32(acc, vld1q_s8(x), vld1q_s8(y));
    }
    static V add(V a, V b) { return vaddq_s32(a, b); }
    static std::int64_t sum(V v) { return vaddlvq_s32(v); }
  };
};

}  // namespace
}  // namespace kernels
