// Idea: 8-bit caches take a third of the instructions or less: int8 is multiplied as int8, queries
// and weights being two digits each; ldmatrix takes V's bytes two by two, so that one PRMT brings
// four tokens of a dimension together; 32 tokens a step; sums are rescaled only where a score
// leaves the headroom.
// Bound: HBM: at 4.7 TB/s a step of all 8 warps of an SM may take 3300 clocks.
// Gains over v6: not timed yet. For 32 tokens a warp issues 330 instructions in e4m3, 128 of them
// conversions, and 290 in int8; v6 issues 940 and 1540, some 4.5 and 3.7 clocks each with two warps
// a scheduler on an H200. At 4.5 clocks 1500 and 1300 are less than half of HBM's. Predicted: v6's
// speed in bf16, whose bound is HBM, in bytes: 4.2 TB/s, 1.17 times v6 in e4m3 and 1.57 in int8.
// Groups of 9 to 16 heads are two items, the second reading from L2.
// Left: e4m3 by mma.sync. On sm_90a nvcc makes each such instruction two HMMA, of which it converts
// the operands: as many conversions of the cache, and more of the queries.
#include "kernels/attention/attention_mma_bytes.cuh"
#include "kernels/attention/attention_tma.cuh"

namespace kernels::attention {
namespace {

using E128 = ByteHeads<__nv_fp8_e4m3, 128>;
using S128 = ByteHeads<std::int8_t, 128>;
static_assert(E128::kMost == S128::kMost);

}  // namespace

extern const GpuKernel sm90a_v7_bytes = {.e4m3 = {nullptr, launch_tma<E128, true>},
                                         .s8 = {nullptr, launch_tma<S128, true>},
                                         .splits = true,
                                         .pieces_per_sm = 1,
                                         .shared_heads = [](int) { return E128::kMost; },
                                         .tensor_cores = true,
                                         .two_terms = S128::kTwoTerms,
                                         .page_grain = kBoxTokens,
                                         .open = open_tma<true, E128, S128>};

}  // namespace kernels::attention
