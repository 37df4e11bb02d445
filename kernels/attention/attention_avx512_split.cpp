// Idea: the context is split into chunks that free threads take, partial results are combined; the
// next block of the cache is prefetched while this one is worked on.
// Bound: as avx2_gqa.
// Gains over it: all cores busy to the end, also with fewer kv heads than cores; pages in
// random order, which no hardware prefetcher follows.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::attention {

extern const Kernel avx512_split = {.exec_unit = Avx512::kUnit,
                                    .f32 = attend_split<Avx512::F32, float>,
                                    .bf16 = attend_split<Avx512::F32, bf16>,
                                    .s8 = attend_split<Avx512::F32, std::int8_t>,
                                    .max_group = 8};

}  // namespace kernels::attention
