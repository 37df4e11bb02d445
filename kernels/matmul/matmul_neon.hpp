// The engines of matmul on 128-bit vectors. Of 32 registers, 24 hold the 12 x 2 tile of sums.
// Untuned: has run under emulation only.
#pragma once

#include "kernels/matmul/matmul_engine.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::matmul {
namespace {

template <class F, class X, class Y>
using FloatNeon = FloatEngine<F, X, Y, 12, 2>;

/// What the int8 engines share: sums of 32 bits.
struct Int32SumsNeon {
  using Y = std::int8_t;
  using Z = std::int32_t;
  using Yp = std::int8_t;
  using V = int32x4_t;
  static constexpr int kRows = 12, kVectors = 2, kLanes = 4, kHeader = 0;

  static V zero() { return vdupq_n_s32(0); }
  static V first(const void*, int) { return zero(); }
  static V add(V a, V b) { return vaddq_s32(a, b); }
  static V load_sums(const Z* z) { return vld1q_s32(z); }
  static void put(Z* z, V acc, bool accumulate, const float*, int) {
    vst1q_s32(z, accumulate ? vaddq_s32(acc, vld1q_s32(z)) : acc);
  }
};

/// int8 widened to 16 bits for smlal, which adds products of 16 bits to sums of 32.
template <class XT>
struct Int8Neon : Int32SumsNeon {
  using X = XT;
  using Xp = std::int16_t;
  using W = int16x4_t;
  static constexpr int kGroup = 1, kChunk = 8;

  static void load_y(const Yp* y, W (&w)[2]) {
    const int16x8_t wide = widen(y);
    w[0] = vget_low_s16(wide);
    w[1] = vget_high_s16(wide);
  }
  static void load_rows(const Y* y, std::int64_t, W (&w)[2]) { load_y(y, w); }
  static W broadcast(const Xp* x) { return vdup_n_s16(*x); }
  static V step(V acc, W y, W x) { return vmlal_s16(acc, y, x); }
  static int16x8_t widen(const std::int8_t* x) { return vmovl_s8(vld1_s8(x)); }
  static int16x8_t widen(const std::uint8_t* x) {
    return vreinterpretq_s16_u16(vmovl_u8(vld1_u8(x)));
  }
  static void pack_x(const X* x, Xp* out) { vst1q_s16(out, widen(x)); }
  static void pack_y(const Y* y, std::int64_t, Yp* out) { vst1_s8(out, vld1_s8(y)); }
};

}  // namespace
}  // namespace kernels::matmul
