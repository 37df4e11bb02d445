// Idea: 16-byte loads and stores past L1, eight a thread in flight for a read and four of each
// array else; every pass moves a block on by slice_step() slices. Bound: L2 while the set stays in
// it, else HBM. Gains: the memory roofs. Tried: on to the next slice: neighbouring SMs read the
// same lines at nearly the same time, for which L2 is asked once; 15 TB/s on an H200, whose L2
// gives 9. On by half of all slices, which is the next SM again: 10.9 TB/s of 20 MB, 10.3 of 24,
// where seven slices on (a trial of 100 passes) gave 9.1 of either. On by 53 of 264, by which it is
// the next SM's turn after five passes: not timed. Four loads in flight: 0.99 of HBM.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/stream/stream_gpu.hpp"

namespace kernels::stream {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 512, kBlocksPerSm = 2;

__device__ __forceinline__ float4 triad_of(float4 b, float s, float4 c) {
  return {b.x + s * c.x, b.y + s * c.y, b.z + s * c.z, b.w + s * c.w};
}

__device__ __forceinline__ int after(int block, int step) {
  const int blocks = static_cast<int>(gridDim.x), next = block + step;
  return next < blocks ? next : next - blocks;
}

/// Tiles of kUnroll vectors a thread, at least one for each block.
template <int kUnroll, class Step>
__device__ __forceinline__ void sweep_tiles(const GpuArguments& a, Step step) {
  constexpr int kTile = kThreads * kUnroll;
  constexpr std::uint32_t kAll = (1u << kUnroll) - 1;
  const std::int64_t vectors = a.n / 4;
  int block = blockIdx.x;
  for (std::int64_t pass = 0; pass < a.repeats; ++pass) {
    for (std::int64_t tile = std::int64_t{block} * kTile; tile < vectors;
         tile += std::int64_t{gridDim.x} * kTile) {
      const std::int64_t first = tile + threadIdx.x;
      const auto at = [first](int u) { return first + u * kThreads; };
      if (tile + kTile <= vectors) {
        step(at, kAll);
        continue;
      }
      std::uint32_t mask = 0;
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) mask |= (at(u) < vectors ? 1u : 0u) << u;
      step(at, mask);
    }
    block = after(block, a.step);
  }
}

/// Fewer vectors than that: equal slices of whole lines, one for each block, so that every SM reads
/// in every pass. What a thread has in flight is of several passes.
template <int kUnroll, class Step>
__device__ __forceinline__ void sweep_slices(const GpuArguments& a, Step step) {
  constexpr int kLine = 8;
  const int vectors = static_cast<int>(a.n / 4), blocks = gridDim.x;
  const int slice = (vectors + blocks * kLine - 1) / (blocks * kLine) * kLine;
  const int parts = (slice + kThreads - 1) / kThreads;  // of a slice, a vector a thread
  const std::int64_t all = a.repeats * parts;
  int block = blockIdx.x, part = 0;
  for (std::int64_t done = 0; done < all; done += kUnroll) {
    int from[kUnroll];
    std::uint32_t mask = 0;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int within = part * kThreads + threadIdx.x;
      from[u] = block * slice + within;
      mask |= (done + u < all && within < slice && from[u] < vectors ? 1u : 0u) << u;
      if (++part == parts) {
        part = 0;
        block = after(block, a.step);
      }
    }
    step([&from](int u) { return from[u]; }, mask);
  }
}

/// Calls step(at, mask) for kUnroll vectors of this thread at a time, of which those count whose
/// bit is set, until all have been in each of the passes.
template <int kUnroll, class Step>
__device__ __forceinline__ void sweep(const GpuArguments& a, Step step) {
  if (a.n / 4 >= std::int64_t{gridDim.x} * kThreads * kUnroll) {
    sweep_tiles<kUnroll>(a, step);
  } else {
    sweep_slices<kUnroll>(a, step);
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) read_kernel(GpuArguments a) {
  constexpr int kUnroll = 8;
  std::uint32_t sum = 0;
  const auto* p = reinterpret_cast<const uint4*>(a.a);
  sweep<kUnroll>(a, [&](const auto& at, std::uint32_t mask) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) v[u] = ptx::load_past_l1(p + at(u));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) sum += v[u].x + v[u].y + v[u].z + v[u].w;
  });
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x % 32 == 0) atomicAdd(a.sum, sum);
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) write_kernel(GpuArguments a) {
  constexpr int kUnroll = 4;
  auto* p = reinterpret_cast<float4*>(a.a);
  sweep<kUnroll>(a, [&](const auto& at, std::uint32_t mask) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) p[at(u)] = {a.s, a.s, a.s, a.s};
  });
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) copy_kernel(GpuArguments a) {
  constexpr int kUnroll = 4;
  auto* to = reinterpret_cast<uint4*>(a.a);
  const auto* from = reinterpret_cast<const uint4*>(a.b);
  sweep<kUnroll>(a, [&](const auto& at, std::uint32_t mask) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) v[u] = ptx::load_past_l1(from + at(u));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) to[at(u)] = v[u];
  });
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) triad_kernel(GpuArguments a) {
  constexpr int kUnroll = 4;
  auto* to = reinterpret_cast<float4*>(a.a);
  const auto* b = reinterpret_cast<const float4*>(a.b);
  const auto* c = reinterpret_cast<const float4*>(a.c);
  sweep<kUnroll>(a, [&](const auto& at, std::uint32_t mask) {
    float4 x[kUnroll], y[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) {
        x[u] = __ldcg(b + at(u));
        y[u] = __ldcg(c + at(u));
      }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (mask >> u & 1) to[at(u)] = triad_of(x[u], a.s, y[u]);
  });
}

template <void (*kernel)(GpuArguments)>
void launch(const GpuArguments& arguments, cudaStream_t stream) {
  GpuArguments a = arguments;
  a.step = slice_step(a.sms, kBlocksPerSm);
  kernel<<<a.sms * kBlocksPerSm, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("stream");
}

}  // namespace

extern const GpuKernel sm80_vector = {.read = launch<read_kernel>,
                                      .write = launch<write_kernel>,
                                      .copy = launch<copy_kernel>,
                                      .triad = launch<triad_kernel>};

}  // namespace kernels::stream
