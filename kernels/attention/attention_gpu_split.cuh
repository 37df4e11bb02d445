// One warp over a chunk of the context for a few query heads of one kv head. 16-byte loads: the
// lanes of a row, and as many tokens at a time as rows fit a warp. Each such group of lanes has an
// online softmax of its own; they meet at the end.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstring>
#include <type_traits>

#include "kernels/attention/attention_gpu.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/widen.cuh"
#include "kernels/dtype.hpp"

namespace kernels::attention {

inline constexpr int kSplitWarps = 4;  ///< a block

template <class T, int dim, int heads>
struct SplitShape {
  static constexpr int kEach = 16 / static_cast<int>(sizeof(T));  ///< dimensions of a lane
  static constexpr int kLanes = dim / kEach;                      ///< of a row
  static constexpr int kTokens = 32 / kLanes;                     ///< side by side
  static constexpr int kUnroll = heads == 1 ? 4 : 2;  ///< tokens of a group in flight, K and V each
  static_assert(kLanes <= 32, "a row fits a warp");
  static_assert(heads * kEach <= 32, "queries and sums of a lane stay in registers");
};

template <class T>
struct Elements {
  T of[16 / sizeof(T)];
  __device__ __forceinline__ explicit Elements(const uint4& v) { memcpy(of, &v, sizeof of); }
  __device__ __forceinline__ float operator[](int i) const { return static_cast<float>(of[i]); }
};
template <>
struct Elements<std::int8_t> {
  std::uint32_t flipped[4];
  __device__ __forceinline__ explicit Elements(const uint4& v)
      : flipped{v.x ^ 0x80808080, v.y ^ 0x80808080, v.z ^ 0x80808080, v.w ^ 0x80808080} {}
  __device__ __forceinline__ float operator[](int i) const {
    return cuda::widen_flipped(flipped[i / 4], i % 4);
  }
};

template <class T, int dim, int heads>
__global__ void __launch_bounds__(kSplitWarps * 32) split_kernel(GpuArguments a) {
  using S = SplitShape<T, dim, heads>;
  const int lane = threadIdx.x % 32, group_lane = lane % S::kLanes, group = lane / S::kLanes;
  const int of_kv = a.heads / a.kv_heads;        // query heads of a kv head
  const int sets = (of_kv + heads - 1) / heads;  // warps that share a kv head
  const int chunk = blockIdx.x;
  const int item = blockIdx.y * kSplitWarps + threadIdx.x / 32;  // sequence, kv head, set
  if (item >= a.batch * a.kv_heads * sets) return;
  const int set = item % sets, kv_head = item / sets % a.kv_heads;
  const int sequence = item / sets / a.kv_heads;
  const int begin = chunk * a.chunk, end = min(length_of(a, sequence), begin + a.chunk);
  // A set that reaches beyond its kv head's queries computes the last one again and drops it.
  const auto head_of = [&](int h) {
    return sequence * a.heads + kv_head * of_kv + min(set * heads + h, of_kv - 1);
  };

  const float scale = kLog2E * rsqrtf(static_cast<float>(dim));
  const auto* k = static_cast<const T*>(a.k) + group_lane * S::kEach;
  const auto* v = static_cast<const T*>(a.v) + group_lane * S::kEach;
  float q[heads][S::kEach], sum[heads][S::kEach] = {}, max[heads], total[heads] = {};
#pragma unroll
  for (int h = 0; h < heads; ++h) {
    max[h] = -INFINITY;
#pragma unroll
    for (int i = 0; i < S::kEach; ++i)
      q[h][i] = a.q[std::int64_t{head_of(h)} * dim + group_lane * S::kEach + i] * scale;
  }

  for (int first = begin; first < end; first += S::kTokens * S::kUnroll) {
    uint4 kv[S::kUnroll], vv[S::kUnroll];
    float k_scale[S::kUnroll], v_scale[S::kUnroll];
#pragma unroll
    for (int u = 0; u < S::kUnroll; ++u) {
      // Beyond the end: the last token again, with no weight.
      const int token = min(first + u * S::kTokens + group, end - 1);
      const std::int64_t row = row_of(a, sequence, kv_head, token);
      kv[u] = cuda::ptx::load_streaming(k + row * dim);
      vv[u] = cuda::ptx::load_streaming(v + row * dim);
      k_scale[u] = std::is_same_v<T, std::int8_t> ? a.k_scale[row] : 1.0f;
      v_scale[u] = std::is_same_v<T, std::int8_t> ? a.v_scale[row] : 1.0f;
    }
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      float score[S::kUnroll], next = max[h];
#pragma unroll
      for (int u = 0; u < S::kUnroll; ++u) {
        score[u] = 0;
        const Elements<T> key(kv[u]);
#pragma unroll
        for (int i = 0; i < S::kEach; ++i) score[u] += q[h][i] * key[i];
#pragma unroll
        for (int other = S::kLanes / 2; other > 0; other /= 2)
          score[u] += __shfl_xor_sync(kAllLanes, score[u], other);
        score[u] *= k_scale[u];
        if (first + u * S::kTokens + group >= end) score[u] = -INFINITY;
        next = fmaxf(next, score[u]);
      }
      const float keep = weight(max[h], next);
      max[h] = next;
      total[h] *= keep;
#pragma unroll
      for (int i = 0; i < S::kEach; ++i) sum[h][i] *= keep;
#pragma unroll
      for (int u = 0; u < S::kUnroll; ++u) {
        const float p = weight(score[u], next);
        total[h] += p;
        const float w = p * v_scale[u];
        const Elements<T> value(vv[u]);
#pragma unroll
        for (int i = 0; i < S::kEach; ++i) sum[h][i] += w * value[i];
      }
    }
  }

#pragma unroll
  for (int h = 0; h < heads; ++h) {
#pragma unroll
    for (int other = S::kLanes; other < 32; other *= 2) {
      const float other_max = __shfl_xor_sync(kAllLanes, max[h], other);
      const float next = fmaxf(max[h], other_max);
      const float mine = weight(max[h], next), theirs = weight(other_max, next);
      total[h] = mine * total[h] + theirs * __shfl_xor_sync(kAllLanes, total[h], other);
#pragma unroll
      for (int i = 0; i < S::kEach; ++i)
        sum[h][i] = mine * sum[h][i] + theirs * __shfl_xor_sync(kAllLanes, sum[h][i], other);
      max[h] = next;
    }
    if (group != 0 || set * heads + h >= of_kv) continue;
    const std::int64_t slot = std::int64_t{head_of(h)} * a.chunks + chunk;
#pragma unroll
    for (int i = 0; i < S::kEach; ++i)
      a.partial_sums[slot * dim + group_lane * S::kEach + i] = sum[h][i];
    if (group_lane == 0) a.partial_stats[slot] = {max[h], total[h]};
  }
}

/// `heads` query heads a warp. Two launches: the chunks, their combination.
template <class T, int dim, int heads>
int split(const GpuArguments& a, cudaStream_t stream) {
  const int sets = (a.heads / a.kv_heads + heads - 1) / heads;
  const int items = a.batch * a.kv_heads * sets;
  const dim3 blocks(a.chunks, (items + kSplitWarps - 1) / kSplitWarps);
  split_kernel<T, dim, heads><<<blocks, kSplitWarps * 32, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("split attention");
  combine<dim>(a, stream);
  return 2;
}

}  // namespace kernels::attention
