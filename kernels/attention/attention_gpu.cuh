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

/// How many of its threads' groups, of a lane for four dimensions each, a block has.
template <int dim, int threads>
inline constexpr int kCombiners = threads / (dim / 4);

/// Where the groups' sums meet.
template <int dim, int threads>
struct CombineShared {
  float4 sums[kCombiners<dim, threads>][dim / 4];
  float totals[kCombiners<dim, threads>];
};

/// The output of `heads` (sequence, head) pairs from `first_head` on: the sums of their first
/// `chunks` pieces, brought to one maximum, by `threads` threads that `synchronise` waits for. A
/// group takes every nth chunk of a head, eight at a time, as each is an L2 latency away. Past L1,
/// which the writes of other blocks of a running kernel do not reach.
template <int dim, int threads, class Synchronise>
__device__ __forceinline__ void combine_heads(const GpuArguments& a, std::int64_t first_head,
                                              int heads, int chunks,
                                              CombineShared<dim, threads>& shared,
                                              Synchronise synchronise) {
  constexpr int kLanes = dim / 4, kGroups = kCombiners<dim, threads>, kBatch = 8;
  static_assert(threads % 32 == 0 && 32 % kLanes == 0);
  const int group = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int of_head = heads < kGroups ? kGroups / heads : 1, at_once = kGroups / of_head;
  const int last = chunks - 1;
  for (int done = 0; done < heads; done += at_once) {
    // Groups without a head repeat the last one's, and are not asked.
    const std::int64_t head = first_head + min(done + group / of_head, heads - 1);
    const float2* stats = a.partial_stats + head * a.chunks;
    const auto* sums = reinterpret_cast<const float4*>(a.partial_sums + head * a.chunks * dim);
    float max = -INFINITY;
    for (int c = lane; c <= last; c += kBatch * kLanes) {
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        max = fmaxf(max, __ldcg(stats + min(c + i * kLanes, last)).x);
    }
#pragma unroll
    for (int other = kLanes / 2; other > 0; other /= 2)
      max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, other));

    float4 sum = {0, 0, 0, 0};
    float total = 0;
    for (int c = group % of_head; c <= last; c += kBatch * of_head) {
      float2 piece[kBatch];
      float4 part[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int chunk = min(c + i * of_head, last);
        piece[i] = __ldcg(stats + chunk);
        part[i] = __ldcg(sums + std::int64_t{chunk} * kLanes + lane);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const float w = c + i * of_head <= last ? weight(piece[i].x, max) : 0.0f;
        total += w * piece[i].y;
        sum.x += w * part[i].x;
        sum.y += w * part[i].y;
        sum.z += w * part[i].z;
        sum.w += w * part[i].w;
      }
    }
    shared.sums[group][lane] = sum;
    if (lane == 0) shared.totals[group] = total;
    synchronise();
    const int count = min(at_once, heads - done);
    for (int i = threadIdx.x; i < count * dim; i += threads) {
      const int first = i / dim * of_head;
      float of_dimension = 0, of_all = 0;
      for (int g = first; g < first + of_head; ++g) {
        of_dimension += reinterpret_cast<const float*>(shared.sums[g])[i % dim];
        of_all += shared.totals[g];
      }
      a.out[(first_head + done) * dim + i] = of_dimension / of_all;
    }
    synchronise();  // before the next heads' sums
  }
}

/// A block a (sequence, head).
template <int dim, int threads>
__global__ void __launch_bounds__(threads) combine_kernel(GpuArguments a) {
  __shared__ CombineShared<dim, threads> shared;
  combine_heads<dim>(a, blockIdx.x, 1, a.chunks, shared, [] { __syncthreads(); });
}

/// Few chunks leave more threads without any.
template <int dim>
void combine(const GpuArguments& a, cudaStream_t stream) {
  constexpr int kFew = 64, kMany = 256;
  const int heads = a.batch * a.heads;
  if (a.chunks <= 8 * kCombiners<dim, kFew>)
    combine_kernel<dim, kFew><<<heads, kFew, 0, stream>>>(a);
  else
    combine_kernel<dim, kMany><<<heads, kMany, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("combine");
}

}  // namespace kernels::attention
