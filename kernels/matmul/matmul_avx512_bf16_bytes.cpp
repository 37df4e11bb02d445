// Idea: bf16 x int8 whose panels keep the weights as bytes; a group becomes pairs of bf16 in
// registers, each time that a tile loads it.
// Bound: the DRAM read roof for few rows; then the bf16 roof, less 12 operations a group of 2 R
// products.
// Gains over avx512_bf16_packed: half the bytes to read of weights packed before.
// NOTES.md, "Tiles and widening of the engines".
#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {
namespace {

struct Bf16Bytes : Bf16Engine<std::int8_t> {
  using Yp = std::int8_t;

  static V first(const Xp*, int) { return zero(); }
  static void load_y(const Yp* y, W (&w)[2]) {
    for (int v = 0; v < 2; ++v) w[v] = widened_pairs(y + v * kLanes, y + 32 + v * kLanes);
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    __builtin_memcpy(out, y, 32);
    __builtin_memcpy(out + 32, y + ldy, 32);
  }
};

}  // namespace

extern const Kernel avx512_bf16_bytes = {.exec_unit = Avx512Bf16::kUnit,
                                         .bf16_s8 = Packed<Bf16Bytes>::routine(),
                                         .bf16_s8_roof = "bf16"};

}  // namespace kernels::matmul
