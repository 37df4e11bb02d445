// Idea: a 6 x 64 tile of bf16 on X where it lies and a panel of Y, packed just before.
// Bound: as avx512_bf16_packed, while L2 brings X's rows again for every panel.
// Gains over avx512_bf16_packed: X is not copied. In turns on Zen 5, one core: 1.05 times as fast
// at 256 cubed, 1.015 at 512, 1.02 at 768, 1.01 to 1.02 at 1024 and 2048, two cores 1.01 to 1.015
// there. By a tile of 14 x 32 0.99, 1.00, 0.98, 0.98 and 0.95 of that; by that tile on Zen 4, where
// the low one has 0.99 to 1.01 of it, one core: 1.05 at 128 cubed, 1.03 at 256, 1.01 at 384, 1.00
// at 512, 0.985 at 768; two cores 1.01 at 256, 0.985 at 512. On weights packed before 1.02
// and 1.00, two cores 1.08 and 1.02.
#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {
namespace {

/// A tile of 6 x 64 in place of 14 x 32.
struct WideBf16 : Bf16Engine<bf16> {
  static constexpr int kRows = 6, kVectors = 4, kLeft = 32;
  static void load_y(const Yp* y, W (&w)[4]) {
    for (int v = 0; v < 4; ++v) w[v] = _mm512_loadu_ps(y + v * kLeft);
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    Bf16Engine::pack_y(y, ldy, out);
    Bf16Engine::pack_y(y + kLeft, ldy, out + kGroup * kLeft);
  }
};

bool offers(std::string_view dtype, const Shape& s, int threads) {
  return s.k % 2 == 0 && in_place_offers(dtype, s, threads);
}

}  // namespace

extern const Kernel avx512_bf16_in_place = {.exec_unit = Avx512Bf16::kUnit,
                                            .bf16_f32 = InPlace<WideBf16>::routine(),
                                            .bf16_roof = "bf16",
                                            .offers = offers};

}  // namespace kernels::matmul
