// Idea: the context is split into chunks that free threads take, partial results are combined; the
// next block of the cache is prefetched while this one is worked on.
// Bound: the DRAM read roof for groups up to 8.
// Gains over online: SIMD, one read of the cache for a group; all cores busy to the end, also with
// fewer kv heads than cores; pages in random order, which no hardware prefetcher follows.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::attention {

extern const Kernel neon_split = {.exec_unit = Neon::kUnit,
                                  .f32 = attend_split<Neon::F32, float>,
                                  .bf16 = attend_split<Neon::F32, bf16>,
                                  .s8 = attend_split<Neon::F32, std::int8_t>,
                                  .max_group = 8,
                                  .key_heads = 4,
                                  .value_heads = 4};

}  // namespace kernels::attention
