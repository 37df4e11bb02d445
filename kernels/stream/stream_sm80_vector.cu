// Idea: 16-byte loads and stores past L1, four of each array in flight a thread; every pass moves a
// block on to another slice, so that no SM reads the same lines twice in a row.
// Bound: L2 while the set stays in it, else HBM.
// Gains: the memory roofs.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/stream/stream_gpu.hpp"

namespace kernels::stream {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 512, kBlocksPerSm = 2, kUnroll = 4;

__device__ __forceinline__ float4 triad_of(float4 b, float s, float4 c) {
  return {b.x + s * c.x, b.y + s * c.y, b.z + s * c.z, b.w + s * c.w};
}

/// Calls step(i, count) for the vectors i, i + kThreads, … of this thread, up to kUnroll at a time,
/// in each of the passes.
template <class Step>
__device__ __forceinline__ void sweep(const GpuArguments& a, Step step) {
  constexpr std::int64_t kTile = kThreads * kUnroll;
  const std::int64_t vectors = a.n / 4;
  for (std::int64_t pass = 0; pass < a.repeats; ++pass) {
    const std::int64_t block = (blockIdx.x + pass) % gridDim.x;
    for (std::int64_t tile = block * kTile; tile < vectors; tile += gridDim.x * kTile) {
      const std::int64_t first = tile + threadIdx.x;
      if (tile + kTile <= vectors) {
        step(first, kUnroll);
      } else {
        for (std::int64_t i = first; i < vectors; i += kThreads) step(i, 1);
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) read_kernel(GpuArguments a) {
  std::uint32_t sum = 0;
  const auto* p = reinterpret_cast<const uint4*>(a.a);
  sweep(a, [&](std::int64_t i, int count) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) v[u] = ptx::load_streaming(p + i + u * kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) sum += v[u].x + v[u].y + v[u].z + v[u].w;
  });
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(a.sum, sum);
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) write_kernel(GpuArguments a) {
  auto* p = reinterpret_cast<float4*>(a.a);
  sweep(a, [&](std::int64_t i, int count) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) p[i + u * kThreads] = {a.s, a.s, a.s, a.s};
  });
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) copy_kernel(GpuArguments a) {
  auto* to = reinterpret_cast<uint4*>(a.a);
  const auto* from = reinterpret_cast<const uint4*>(a.b);
  sweep(a, [&](std::int64_t i, int count) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) v[u] = ptx::load_streaming(from + i + u * kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) to[i + u * kThreads] = v[u];
  });
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) triad_kernel(GpuArguments a) {
  auto* to = reinterpret_cast<float4*>(a.a);
  const auto* b = reinterpret_cast<const float4*>(a.b);
  const auto* c = reinterpret_cast<const float4*>(a.c);
  sweep(a, [&](std::int64_t i, int count) {
    float4 x[kUnroll], y[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) {
        x[u] = __ldcs(b + i + u * kThreads);
        y[u] = __ldcs(c + i + u * kThreads);
      }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (u < count) to[i + u * kThreads] = triad_of(x[u], a.s, y[u]);
  });
}

template <void (*kernel)(GpuArguments)>
void launch(const GpuArguments& a, cudaStream_t stream) {
  kernel<<<a.sms * kBlocksPerSm, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("stream");
}

}  // namespace

extern const GpuKernel sm80_vector = {.read = launch<read_kernel>,
                                      .write = launch<write_kernel>,
                                      .copy = launch<copy_kernel>,
                                      .triad = launch<triad_kernel>};

}  // namespace kernels::stream
