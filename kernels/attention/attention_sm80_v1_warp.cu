// Idea: a warp a query head goes through the context one token at a time with an online softmax.
// Bound: the latency of a load and five shuffles a token; a chip with more SMs than heads idles.
// Gains over nothing: it is the ladder's floor; scores never leave the registers.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/attention/attention_gpu.cuh"
#include "kernels/dtype.hpp"

namespace kernels::attention {
namespace {

constexpr int kWarps = 4;  ///< a block

template <class T, int dim>
__global__ void warp_kernel(GpuArguments a) {
  constexpr int kEach = dim / 32;  ///< dimensions of a lane: lane, lane + 32, …
  const int lane = threadIdx.x % 32;
  const int head = blockIdx.x * kWarps + threadIdx.x / 32;
  if (head >= a.batch * a.heads) return;
  const int sequence = head / a.heads, kv_head = head % a.heads / (a.heads / a.kv_heads);
  const float scale = kLog2E * rsqrtf(static_cast<float>(dim));
  const auto* k = static_cast<const T*>(a.k);
  const auto* v = static_cast<const T*>(a.v);
  float q[kEach], sum[kEach] = {};
#pragma unroll
  for (int i = 0; i < kEach; ++i) q[i] = a.q[std::int64_t{head} * dim + lane + 32 * i] * scale;
  float max = -INFINITY, total = 0;
  const int length = length_of(a, sequence);
  for (int token = 0; token < length; ++token) {
    const std::int64_t row = row_of(a, sequence, kv_head, token);
    float score = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      score += q[i] * static_cast<float>(k[row * dim + lane + 32 * i]);
#pragma unroll
    for (int other = 16; other > 0; other /= 2) score += __shfl_xor_sync(kAllLanes, score, other);
    if (a.k_scale != nullptr) score *= a.k_scale[row];
    const float next = fmaxf(max, score);
    const float keep = weight(max, next), p = exp2f(score - next);
    max = next;
    total = total * keep + p;
    const float w = a.v_scale != nullptr ? p * a.v_scale[row] : p;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      sum[i] = sum[i] * keep + w * static_cast<float>(v[row * dim + lane + 32 * i]);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) a.out[std::int64_t{head} * dim + lane + 32 * i] = sum[i] / total;
}

template <class T, int dim>
int launch(const GpuArguments& a, cudaStream_t stream) {
  const int heads = a.batch * a.heads;
  warp_kernel<T, dim><<<(heads + kWarps - 1) / kWarps, kWarps * 32, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("warp attention");
  return 1;
}

template <class T>
constexpr GpuLaunches both() {
  return {launch<T, 64>, launch<T, 128>};
}

}  // namespace

extern const GpuKernel sm80_v1_warp = {.f32 = both<float>(),
                                       .bf16 = both<bf16>(),
                                       .f16 = both<__half>(),
                                       .e4m3 = both<__nv_fp8_e4m3>(),
                                       .s8 = both<std::int8_t>(),
                                       .shared_heads = [](int) { return 1; },
                                       .max_bytes = 1.2e9};

}  // namespace kernels::attention
