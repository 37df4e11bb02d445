// Idea: oneDNN's matmul primitive, compiled for the shape; pack:pre lets it choose the weights'
// order. Bound: plain packs inside the call. A peer, not a rung.
#include <limits>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/peers/onednn.hpp"

namespace kernels::matmul {
namespace {

using peers::DnnlMatmul;
using peers::DnnlType;

template <class X, class Y, class Z, DnnlType kX, DnnlType kY, DnnlType kZ>
struct Functions {
  static DnnlMatmul& bound(const Plan& plan) { return *static_cast<DnnlMatmul*>(plan.state); }

  static std::shared_ptr<void> open(const Plan& plan, bool packed) {
    const Shape& s = plan.shape;
    return std::make_shared<DnnlMatmul>(s.m, s.n, s.k, kX, kY, kZ, packed, plan.threads);
  }
  static void run(const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    bound(plan).run(x, y, z);
  }
  static std::int64_t packed_bytes(const Plan& plan) {
    const Shape& s = plan.shape;
    return DnnlMatmul(s.m, s.n, s.k, kX, kY, kZ, true, plan.threads).weights_bytes();
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    bound(plan).pack(y, packed);
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float*, Z* z) {
    bound(plan).run(x, packed, z);
  }
  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run,
            .packed_bytes = packed_bytes,
            .pack = pack,
            .run_packed = run_packed,
            .open = open};
  }
};

constexpr auto kBf16 = DnnlType::bf16;
constexpr auto kF32 = DnnlType::f32;
constexpr auto kS8 = DnnlType::s8;
constexpr auto kU8 = DnnlType::u8;
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

/// Without dot-product instructions oneDNN adds pairs of int8 products in 16 bits, which saturate:
/// its documentation asks for smaller weights there. Ours use the whole range.
template <class X>
bool exact(DnnlType type) {
  if (!compiles(type, kS8, kS32)) return false;
  constexpr std::int64_t kSide = 64;
  constexpr X kLargest = std::numeric_limits<X>::max();
  const std::vector<X> x(kSide * kSide, kLargest);
  const std::vector<std::int8_t> y(kSide * kSide, 127);
  std::vector<std::int32_t> z(kSide * kSide);
  DnnlMatmul(kSide, kSide, kSide, type, kS8, kS32, false, 1).run(x.data(), y.data(), z.data());
  return z[0] == kLargest * 127 * kSide;
}

bool offers(std::string_view dtype, const Shape&, int) {
  if (!peers::onednn().missing.empty()) return true;
  static const bool bf16 = compiles(kBf16, kBf16, kF32);
  static const bool s8 = exact<std::int8_t>(kS8), u8 = exact<std::uint8_t>(kU8);
  return (dtype != "bf16" || bf16) && (dtype != "s8" || s8) && (dtype != "u8xs8" || u8);
}

}  // namespace

extern const Kernel onednn = {
    .exec_unit = "",
    .f32 = Functions<float, float, float, kF32, kF32, kF32>::routine(),
    .bf16_f32 = Functions<bf16, bf16, float, kBf16, kBf16, kF32>::routine(),
    .s8_s32 = Functions<std::int8_t, std::int8_t, std::int32_t, kS8, kS8, kS32>::routine(),
    .u8_s8 = Functions<std::uint8_t, std::int8_t, std::int32_t, kU8, kS8, kS32>::routine(),
    .bf16_roof = cpu_features().avx512_bf16 ? "bf16" : "f32",
    .label = [] { return peers::onednn().label; },
    .offers = offers};

}  // namespace kernels::matmul
