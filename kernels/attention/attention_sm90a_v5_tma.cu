// Idea: TMA brings the cache in: a producer warp of which four lanes issue whole boxes, ahead of
// four warps that share a piece of the context.
// Bound: HBM. Two blocks an SM have 192 KB in flight, ten times what bandwidth times latency asks.
// Gains over v4 (expected, not measured yet): no thread computes addresses or waits for its own
// copies, and a quarter of the pieces, so a quarter of the partial sums: the last 2 to 5 % of the
// roof.
#include "kernels/attention/attention_tma.cuh"

namespace kernels::attention {

extern const GpuKernel sm90a_v5_tma = tma_variant<false>();

}  // namespace kernels::attention
