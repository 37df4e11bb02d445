// Idea: a copy is 64 tokens by 128 bytes where pages allow, in place of 16: a stage is four copies
// of 8 KB.
// Bound: HBM.
// Gains over v6 (expected): a quarter of the instructions of the warp that brings the cache in, and
// of what TMA takes apart.
#include "kernels/attention/attention_tma.cuh"

namespace kernels::attention {

extern const GpuKernel sm90a_v7_wide = tma_variant<true, kTmaTokens>();

}  // namespace kernels::attention
