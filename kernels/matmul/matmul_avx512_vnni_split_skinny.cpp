// Idea: few rows of bf16 activations times int8 weights by vpdpbusd: activations as two bytes each
// (avx512_vnni_split), weights woven in registers as they are read (avx512_vnni_skinny).
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx512_bf16_skinny, cold, 4096 x 4096, Zen 4, one core / four: M = 1 1.07 / 0.95, 4
// 1.32 / 1.03, 8 1.36 / 1.18, 16 1.17 / 1.09, 32 1.09 / 1.13, 128 1.03 / 1.00 times as fast; over
// avx512_vnni_split, which packs such weights first, 1.5 / 1.2 at M = 1, 1.36 / 1.38 at 8, 1.04 /
// 1.01 at 128.
#include "kernels/matmul/matmul_avx512_units.hpp"
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_skinny.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::matmul {
namespace {

struct Int8SplitRows : Int8VnniRows<std::int8_t> {
  using X = bf16;
  using Z = float;
  static constexpr int kParts = 2, kSplit = 96;

  static float unit_of(const X* x, std::int64_t n) { return matmul::unit_of(x, n); }
  static void split_x(const X* x, float unit, Xp (&parts)[kParts][kSplit]) {
    for (int i = 0; i < kSplit; i += 32)
      split(in_units(x + i, 1 / unit), parts[0] + i, parts[1] + i);
  }
  static float joined(std::int32_t high, std::int32_t low) {
    return 256.0f * static_cast<float>(high) + static_cast<float>(low);
  }
};

}  // namespace

extern const Kernel avx512_vnni_split_skinny = {
    .exec_unit = Avx512Vnni::kUnit,
    .bf16_s8 = SkinnyByRows<Int8SplitRows, 6, 1, Reading::streams>::routine(),
    .bf16_s8_roof = "bf16xs8",
    .bf16_s8_rounding = kUnitRounding,
    .max_m = 128,
    .max_k = kMaxKS8};

}  // namespace kernels::matmul
