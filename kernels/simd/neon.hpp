// 128-bit vectors (Advanced SIMD, every AArch64 core): the interface of avx2.hpp. Untuned: has run
// under emulation only.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/dtype.hpp"

namespace kernels {
namespace {

struct Neon {
  static constexpr const char* kUnit = "simd-neon";

  struct F64 {
    using T = double;
    using V = float64x2_t;
    static constexpr int kWidth = 2;
    static V zero() { return vdupq_n_f64(0); }
    static V set1(double x) { return vdupq_n_f64(x); }
    static V load(const double* p) { return vld1q_f64(p); }
    static void store(double* p, V v) { vst1q_f64(p, v); }
    static V add(V a, V b) { return vaddq_f64(a, b); }
    static V mul(V a, V b) { return vmulq_f64(a, b); }
    static V fma(V a, V b, V c) { return vfmaq_f64(c, a, b); }
    static double sum(V v) { return vaddvq_f64(v); }
  };

  struct F32 {
    using T = float;
    using V = float32x4_t;
    static constexpr int kWidth = 4;
    static V zero() { return vdupq_n_f32(0); }
    static V set1(float x) { return vdupq_n_f32(x); }
    static V exclusive_or(V a, V b, V c) {
      const auto bits = [](V v) { return vreinterpretq_u32_f32(v); };
      return vreinterpretq_f32_u32(veorq_u32(veorq_u32(bits(a), bits(b)), bits(c)));
    }
    static V load(const float* p) { return vld1q_f32(p); }
    static V load(const bf16* p) {
      return vreinterpretq_f32_u32(
          vshll_n_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(p)), 16));
    }
    static V load(const std::int8_t* p) {
      std::uint32_t four;
      std::memcpy(&four, p, sizeof four);
      const int8x8_t b = vreinterpret_s8_u32(vdup_n_u32(four));
      return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(b))));
    }
    static void store(float* p, V v) { vst1q_f32(p, v); }
    static V add(V a, V b) { return vaddq_f32(a, b); }
    static V mul(V a, V b) { return vmulq_f32(a, b); }
    static V max(V a, V b) { return vmaxq_f32(a, b); }
    static V fma(V a, V b, V c) { return vfmaq_f32(c, a, b); }
    static V sub(V a, V b) { return vsubq_f32(a, b); }
    /// v less the whole number below it.
    static V fraction(V v) { return sub(v, vrndmq_f32(v)); }
    /// y times 2 to the power of the whole number below v, which is in [-126, 127].
    static V times_pow2(V y, V v) {
      const int32x4_t biased = vaddq_s32(vcvtmq_s32_f32(v), vdupq_n_s32(127));
      return mul(y, vreinterpretq_f32_s32(vshlq_n_s32(biased, 23)));
    }
    /// Lane i gets lane i + n, around the end.
    template <int n>
    static V rotate(V v) {
      return vextq_f32(v, v, n);
    }
    /// Lane i gets p[i / times], `times` a power of two; reads kWidth values.
    template <int times>
    static V spread(const float* p) {
      const float lanes[4] = {p[0], p[1 / times], p[2 / times], p[3 / times]};
      return load(lanes);
    }
    /// p[0..3] = the sums of a, b, c and d.
    static void store_sums(float* p, V a, V b, V c, V d) {
      vst1q_f32(p, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
    }
    /// 8 values as two vectors: the even ones, then the odd ones.
    static void load_even_odd(const bf16* p, V& even, V& odd) {
      even_odd(load_pairs(p), even, odd);
    }
    /// 8 values at `p`, the first half to the even places of `out` and the second to the odd ones:
    /// what load_even_odd() takes apart again.
    static void store_even_odd(const bf16* p, bf16* out) {
      const uint16x4x2_t halves = {vld1_u16(reinterpret_cast<const std::uint16_t*>(p)),
                                   vld1_u16(reinterpret_cast<const std::uint16_t*>(p + kWidth))};
      vst2_u16(reinterpret_cast<std::uint16_t*>(out), halves);
    }
    static V load_pairs(const bf16* p) {
      return vreinterpretq_f32_u16(vld1q_u16(reinterpret_cast<const std::uint16_t*>(p)));
    }
    static void even_odd(V pairs, V& even, V& odd) {
      const uint32x4_t w = vreinterpretq_u32_f32(pairs);
      even = vreinterpretq_f32_u32(vshlq_n_u32(w, 16));
      odd = vreinterpretq_f32_u32(vandq_u32(w, vdupq_n_u32(0xffff0000u)));
    }
    static float sum(V v) { return vaddvq_f32(v); }
  };

  /// Signed bytes: 16 products a step, widened to 16 bits (smull), then added in pairs into 32-bit
  /// lanes (sadalp).
  struct S8 {
    using V = int32x4_t;
    static constexpr int kWidth = 16;
    /// Steps between two sums: each adds at most 4 * 128 * 128 to a lane.
    static constexpr int kMaxSteps = 1 << 14;
    static V zero() { return vdupq_n_s32(0); }
    static V dot(V acc, const std::int8_t* x, const std::int8_t* y) {
      const int8x16_t a = vld1q_s8(x), b = vld1q_s8(y);
      acc = vpadalq_s16(acc, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
      return vpadalq_s16(acc, vmull_high_s8(a, b));
    }
    static V add(V a, V b) { return vaddq_s32(a, b); }
    static std::int64_t sum(V v) { return vaddlvq_s32(v); }
  };
};

}  // namespace
}  // namespace kernels
