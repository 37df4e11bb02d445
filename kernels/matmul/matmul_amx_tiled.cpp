// Idea: AMX. 2 x 2 tiles of sums take two tiles of X, which pass L1 by, and two of Y from a panel
// of 32 columns and 16 steps of K, which stays there: 4 loads for 4 products. A thread has rows of
// its own; some 256 of them by 384 columns have their sums in L2 until all of K has passed. For up
// to 128 rows and weights packed before, the weights are one stream past all of X: up to 32 rows,
// sums stay in tiles over all of K, beyond, in L1 between a few steps.
// Bound: a tile product every 16 cycles, 1024 FLOP a cycle in bf16 and 2048 OP in int8; X and Z
// from L3, as so many products leave little time for them.
// Gains over avx512_bf16_packed and avx512_vnni_packed: 16 and 8 times the products a cycle.
// NOTES.md, "AMX tiles".
#include "kernels/matmul/matmul_amx.hpp"

namespace kernels::matmul {

extern const Kernel amx_tiled = {.exec_unit = Amx::kUnit,
                                 .bf16_f32 = Tiled<Bf16Tiles<bf16>>::routine(),
                                 .s8_s32 = Tiled<Int8Signed>::routine(),
                                 .u8_s8 = Tiled<Int8Unsigned>::routine(),
                                 .bf16_s8 = Tiled<Bf16Int8Tiles>::routine(),
                                 .bf16_roof = "bf16",
                                 .bf16_s8_roof = "bf16"};

}  // namespace kernels::matmul
