// Idea: bf16 with bfdot, two products a lane, on the packed matmul's panels; int8 weights are
// turned into bf16, which holds them exactly, as they are packed.
// Bound: the core's bfdot pipes, 16 FLOP an instruction. Untuned.
// Gains over neon_packed: twice the products an instruction, no widening.
#include "kernels/matmul/matmul_neon.hpp"
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/neon_bf16.hpp"

namespace kernels::matmul {
namespace {

template <class YT>
struct Bf16NeonEngine {
  using X = bf16;
  using Y = YT;
  using Z = float;
  using Xp = bf16;
  using Yp = bf16;
  using V = float32x4_t;
  using W = float32x4_t;
  static constexpr int kRows = 12, kVectors = 2, kLanes = 4, kGroup = 2, kChunk = 8, kHeader = 0;

  static V zero() { return vdupq_n_f32(0); }
  static V first(const Xp*, int) { return zero(); }
  static V add(V a, V b) { return vaddq_f32(a, b); }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = NeonBf16::BF16::load(y);
    w[1] = NeonBf16::BF16::load(y + 8);
  }
  static W broadcast(const Xp* x) {
    float pair;
    __builtin_memcpy(&pair, x, sizeof pair);
    return vdupq_n_f32(pair);
  }
  static V step(V acc, W y, W x) { return NeonBf16::BF16::dot(acc, x, y); }
  static void put(Z* z, V acc, bool accumulate, const float* scales, int column) {
    if (scales != nullptr) acc = vmulq_f32(acc, vld1q_f32(scales + column));
    vst1q_f32(z, accumulate ? vaddq_f32(acc, vld1q_f32(z)) : acc);
  }
  static void pack_x(const X* x, Xp* out) { __builtin_memcpy(out, x, kChunk * sizeof(bf16)); }

  static uint16x8_t row(const bf16* y) {
    return vld1q_u16(reinterpret_cast<const std::uint16_t*>(y));
  }
  /// Whole numbers up to 128 have the same upper half in fp32 and nothing in the lower.
  static uint16x8_t row(const std::int8_t* y) {
    const auto upper = [](const std::int8_t* p) {
      return vshrn_n_u32(vreinterpretq_u32_f32(Neon::F32::load(p)), 16);
    };
    return vcombine_u16(upper(y), upper(y + 4));
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    vst2q_u16(reinterpret_cast<std::uint16_t*>(out), {{row(y), row(y + ldy)}});
  }
};

}  // namespace

extern const Kernel neon_bf16_packed = {.exec_unit = NeonBf16::kUnit,
                                        .bf16_f32 = Packed<Bf16NeonEngine<bf16>>::routine(),
                                        .bf16_s8 = Packed<Bf16NeonEngine<std::int8_t>>::routine(),
                                        .bf16_roof = "bf16",
                                        .bf16_s8_roof = "bf16"};

}  // namespace kernels::matmul
