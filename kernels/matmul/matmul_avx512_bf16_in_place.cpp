// Idea: a 6 x 64 tile of bf16 on X where it lies and a panel of Y, packed just before.
// Bound: as avx512_bf16_packed, while L2 brings X's rows again for every panel.
// Gains over avx512_bf16_packed: X is not copied; 256 cubed 1.05 times as fast on a core of Zen 5.
// NOTES.md, "X where it lies, bf16".
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
