// Idea: one thread, one load after the other.
// Bound: the latency of the level that holds the set, address translation included.
// Gains: the latency of a level; nothing else runs on the chip.
#include <algorithm>

#include "kernels/chase/chase_gpu.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"

namespace kernels::chase {
namespace {

constexpr int kUnroll = 16;

/// Nothing says where a pointer that was loaded points to, and the compiler would take a slower
/// load that works in every memory.
__device__ __forceinline__ const GpuNode* next_of(const GpuNode* node) {
  return static_cast<const GpuNode*>(cuda::ptx::load_pointer(node));
}

__global__ void follow_kernel(const GpuNode** at, std::int64_t loads) {
  const GpuNode* node = *at;
  std::int64_t i = 0;
  for (; i + kUnroll <= loads; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) node = next_of(node);
  }
  for (; i < loads; ++i) node = next_of(node);
  *at = node;
}

void follow(const GpuChain& chain, std::int64_t loads, cudaStream_t stream) {
  follow_kernel<<<1, 1, 0, stream>>>(chain.at, loads);
  CUDA_CHECK_LAUNCH("follow");
}

__global__ void touch_kernel(const GpuNode* first, std::int64_t count) {
  const std::int64_t apart = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += apart)
    if (next_of(first + i) == nullptr) __trap();  // never; ptxas drops loads that nothing asks for
}

void touch(const GpuChain& chain, cudaStream_t stream) {
  constexpr int kThreads = 256, kMostBlocks = 1024;
  const std::int64_t blocks = (chain.count + kThreads - 1) / kThreads;
  touch_kernel<<<static_cast<int>(std::min<std::int64_t>(blocks, kMostBlocks)), kThreads, 0,
                 stream>>>(chain.first, chain.count);
  CUDA_CHECK_LAUNCH("touch");
}

}  // namespace

extern const GpuKernel sm80_plain = {.follow = follow, .touch = touch};

}  // namespace kernels::chase
