// Idea: one thread, one load after the other.
// Bound: the latency of the level that holds the set, address translation included.
// Gains: the latency of a level; nothing else runs on the chip.
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

}  // namespace

extern const GpuKernel sm80_plain = {.follow = follow};

}  // namespace kernels::chase
