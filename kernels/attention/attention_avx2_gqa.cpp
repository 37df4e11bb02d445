// Idea: a register tile of tokens x the query heads of a group: the cache is read and widened once.
// Bound: the DRAM read roof while 2 G FLOP per element of the cache stay under the ridge.
// Gains over avx2: up to G times less traffic; nothing where each head has its own cache (G = 1).
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::attention {

extern const Kernel avx2_gqa = {.exec_unit = Avx2::kUnit,
                                .f32 = attend_by_group<Avx2::F32, float>,
                                .bf16 = attend_by_group<Avx2::F32, bf16>,
                                .s8 = attend_by_group<Avx2::F32, std::int8_t>,
                                .max_group = 8,
                                .key_heads = 4,
                                .value_heads = 4};

}  // namespace kernels::attention
