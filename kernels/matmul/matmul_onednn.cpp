// Idea: oneDNN's matmul primitive, compiled for the shape; pack:pre lets it choose the weights' order.
// Bound: plain packs inside the call.
// A peer, not a rung.
#include "kernels/cpu_features.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/peers/onednn.hpp"

namespace kernels::matmul {
namespace {

using peers::DnnlMatmul;
using peers::DnnlType;

template <class X, class Y, class Z, DnnlType kX, DnnlType kY, DnnlType kZ>
constexpr Routine<X, Y, Z> routine() {
  using Open = std::shared_ptr<DnnlMatmul>;
  constexpr auto open = [](const Plan& plan, bool packed) -> Open {
    const Shape& s = plan.shape;
    return std::make_shared<DnnlMatmul>(s.m, s.n, s.k, kX, kY, kZ, packed, plan.threads);
  };
  constexpr auto run = [](const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    static_cast<DnnlMatmul*>(plan.state)->run(x, y, z);
  };
  return {.run = run,
          .packed_bytes = [](const Plan& plan) { return open(plan, true)->weights_bytes(); },
          .pack = [](const Plan& plan, const Y* y, const float*,
                     void* packed) { static_cast<DnnlMatmul*>(plan.state)->pack(y, packed); },
          .run_packed = [](const Plan& plan, const X* x, const void* packed, const float*,
                           Z* z) { static_cast<DnnlMatmul*>(plan.state)->run(x, packed, z); },
          .open = [](const Plan& plan, bool packed) -> std::shared_ptr<void> {
            return open(plan, packed);
          }};
}

constexpr auto kBf16 = DnnlType::bf16;
constexpr auto kF32 = DnnlType::f32;
constexpr auto kS8 = DnnlType::s8;
constexpr auto kS32 = DnnlType::s32;

/// Whether oneDNN has a matmul of that type for this CPU.
bool compiles(DnnlType x, DnnlType y, DnnlType z) {
  try {
    DnnlMatmul(16, 16, 16, x, y, z, false, 1);
    return true;
  } catch (const BadInput&) {
    return false;
  }
}

bool offers(std::string_view dtype, int) {
  if (!peers::onednn().missing.empty()) return true;
  static const bool bf16 = compiles(kBf16, kBf16, kF32);
  static const bool s8 = compiles(kS8, kS8, kS32);
  return (dtype != "bf16" || bf16) && (dtype != "s8" || s8);
}

}  // namespace

extern const Kernel onednn = {
    .exec_unit = "",
    .f32 = routine<float, float, float, kF32, kF32, kF32>(),
    .bf16_f32 = routine<bf16, bf16, float, kBf16, kBf16, kF32>(),
    .s8_s32 = routine<std::int8_t, std::int8_t, std::int32_t, kS8, kS8, kS32>(),
    .bf16_roof = cpu_features().avx512_bf16 ? "bf16" : "f32",
    .label = [] { return peers::onednn().label; },
    .offers = offers};

}  // namespace kernels::matmul
