// What the GPU variants of attention share: where a token's row lies, and the last step of a split
// context.
#pragma once

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/cuda/check.hpp"

namespace kernels::attention {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr float kLog2E = 1.4426950408889634f;

__device__ __forceinline__ int length_of(const GpuArguments& a, int sequence) {
  return a.lengths == nullptr ? a.context : a.lengths[sequence];
}

/// Row of K and V (and of the scales) that holds a token.
__device__ __forceinline__ std::int64_t row_of(const GpuArguments& a, int sequence, int kv_head,
                                               int token) {
  if (a.table == nullptr)
    return (std::int64_t{sequence} * a.kv_heads + kv_head) * a.page_tokens + token;
  const unsigned in_sequence = static_cast<unsigned>(token) / static_cast<unsigned>(a.page_tokens);
  const int page = a.table[sequence * a.sequence_pages + static_cast<int>(in_sequence)];
  return (std::int64_t{page} * a.kv_heads + kv_head) * a.page_tokens + token -
         static_cast<int>(in_sequence) * a.page_tokens;
}

/// exp2(x - max), 0 where no token has been seen yet.
__device__ __forceinline__ float weight(float x, float max) {
  return max == -INFINITY ? 0.0f : exp2f(x - max);
}

/// Dimension `d` of a (sequence, head) from its chunks' sums, brought to one maximum. Past L1,
/// which the writes of other blocks of a running kernel do not reach.
template <int dim>
__device__ __forceinline__ float combined(const GpuArguments& a, std::int64_t head, int d) {
  const float2* stats = a.partial_stats + head * a.chunks;
  const float* sums = a.partial_sums + head * a.chunks * dim + d;
  float max = -INFINITY;
  for (int c = 0; c < a.chunks; ++c) max = fmaxf(max, __ldcg(stats + c).x);
  float total = 0, sum = 0;
  for (int c = 0; c < a.chunks; ++c) {
    const float2 piece = __ldcg(stats + c);
    const float w = weight(piece.x, max);
    total += w * piece.y;
    sum += w * __ldcg(sums + static_cast<std::int64_t>(c) * dim);
  }
  return sum / total;
}

/// A block a (sequence, head), a thread a dimension.
template <int dim>
__global__ void combine_kernel(GpuArguments a) {
  const std::int64_t head = blockIdx.x;
  a.out[head * dim + threadIdx.x] = combined<dim>(a, head, static_cast<int>(threadIdx.x));
}

template <int dim>
void combine(const GpuArguments& a, cudaStream_t stream) {
  combine_kernel<dim><<<a.batch * a.heads, dim, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("combine");
}

}  // namespace kernels::attention
