// Idea: one thread, one load of shared memory after the other.
// Bound: the latency of shared memory.
// Gains: the latency of a tile that a matmul or an attention has brought in.
#include "kernels/chase/chase_gpu.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"

namespace kernels::chase {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 128;
constexpr int kUnroll = 16;
constexpr int kApart = sizeof(GpuNode) / sizeof(std::uint32_t);

/// A link is the shared address of the next.
__global__ void follow_shared_kernel(GpuChain chain, std::int64_t loads) {
  __shared__ std::uint32_t links[kSharedNodes * kApart];
  const auto address_of = [&](const GpuNode* node) {
    return ptx::shared_address(links + (node - chain.first) * kApart);
  };
  for (std::int64_t i = threadIdx.x; i < chain.count; i += kThreads)
    links[i * kApart] = address_of(chain.first[i].next);
  __syncthreads();
  if (threadIdx.x != 0) return;
  std::uint32_t at = address_of(*chain.at);
  std::int64_t i = 0;
  for (; i + kUnroll <= loads; i += kUnroll) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) at = ptx::load_shared_word(at);
  }
  for (; i < loads; ++i) at = ptx::load_shared_word(at);
  *chain.at = chain.first + (at - ptx::shared_address(links)) / sizeof(GpuNode);
}

void follow(const GpuChain& chain, std::int64_t loads, cudaStream_t stream) {
  follow_shared_kernel<<<1, kThreads, 0, stream>>>(chain, loads);
  CUDA_CHECK_LAUNCH("follow in shared memory");
}

}  // namespace

extern const GpuKernel sm80_shared = {.follow = follow, .in_shared = true};

}  // namespace kernels::chase
