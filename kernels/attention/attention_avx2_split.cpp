// Idea: the context is split into chunks that free threads take, partial results are combined; the
// next block of the cache is prefetched while this one is worked on.
// Bound: as avx2_gqa.
// Gains over avx2_gqa: all cores busy to the end, also with fewer kv heads than cores; pages in
// random order, which no hardware prefetcher follows.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::attention {

extern const Kernel avx2_split = {.exec_unit = Avx2::kUnit,
                                  .f32 = attend_split<Avx2::F32, float>,
                                  .bf16 = attend_split<Avx2::F32, bf16>,
                                  .s8 = attend_split<Avx2::F32, std::int8_t>,
                                  .max_group = 8,
                                  .key_heads = 4,
                                  .value_heads = 4};

}  // namespace kernels::attention
