// Idea: int8 with sdot, four products a lane, on the packed matmul's panels.
// Bound: the core's sdot pipes, 32 OP an instruction. Untuned.
// Gains over neon_packed: no widening, four times the products an instruction.
#include "kernels/matmul/matmul_neon.hpp"
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/neon_dotprod.hpp"

namespace kernels::matmul {
namespace {

struct Int8Dotprod : Int32SumsNeon {
  using X = std::int8_t;
  using Xp = std::int8_t;
  using W = int8x16_t;
  static constexpr int kGroup = 4, kChunk = 16;

  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = vld1q_s8(y);
    w[1] = vld1q_s8(y + 16);
  }
  static W broadcast(const Xp* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }
  static V step(V acc, W y, W x) { return vdotq_s32(acc, y, x); }
  static void pack_x(const X* x, Xp* out) { vst1q_s8(out, vld1q_s8(x)); }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    vst4_s8(out, {{vld1_s8(y), vld1_s8(y + ldy), vld1_s8(y + 2 * ldy), vld1_s8(y + 3 * ldy)}});
  }
};

}  // namespace

extern const Kernel neon_dotprod_packed = {.exec_unit = NeonDotprod::kUnit,
                                           .s8_s32 = Packed<Int8Dotprod>::routine()};

}  // namespace kernels::matmul
