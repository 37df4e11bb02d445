// Idea: avx2_split on 512-bit vectors, with twice the registers: more heads a register tile.
// Bound: the DRAM read roof for groups up to 8.
// Gains over avx2_split: half the instructions: Zen 5, two cores, groups of four, 1.57 times as
// fast in int8 from memory, 1.64 in bf16 from L2.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::attention {

extern const Kernel avx512_split = {.exec_unit = Avx512::kUnit,
                                    .f32 = attend_split<Avx512::F32, float>,
                                    .bf16 = attend_split<Avx512::F32, bf16>,
                                    .s8 = attend_split<Avx512::F32, std::int8_t>,
                                    .max_group = 8,
                                    .key_heads = 8,
                                    .value_heads = 8};

}  // namespace kernels::attention
