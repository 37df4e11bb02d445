// Idea: 16-byte loads, eight in flight a thread; warp shuffles; the last block to finish adds up.
// Bound: the HBM read roof (L2's when resident); launch time below a few megabytes.
// Gains over v2: bytes in flight, and one launch instead of a memset and thousands of atomics.
#include <cstring>

#include "kernels/cuda/ptx.cuh"
#include "kernels/dot/dot_gpu.cuh"

namespace kernels::dot {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 512;
constexpr int kBlocksPerSm = 2;
constexpr int kUnroll = 4;  ///< 16-byte vectors of x and of y that a thread has in flight
constexpr int kWarps = kThreads / 32;
constexpr int kMaxBlocks = 512, kMaxRepeats = 32;
static_assert(kWarps <= 32, "one warp adds up the warps' sums");

/// In the workspace, a place for each repeat: blocks that are done with one go on to the next while
/// its last block still adds up. The counters return to 0 by themselves (atomicInc wraps).
template <class T>
struct Partials {
  alignas(8) unsigned finished[kMaxRepeats];
  Sum<T> sums[kMaxRepeats][kMaxBlocks];
};
static_assert(sizeof(Partials<double>) <= kWorkspaceBytes);

template <class T>
__device__ __forceinline__ Sum<T> dot_16_bytes(uint4 x, uint4 y, Sum<T> sum) {
  constexpr int kElements = 16 / sizeof(T);
  T a[kElements], b[kElements];
  memcpy(a, &x, sizeof a);
  memcpy(b, &y, sizeof b);
#pragma unroll
  for (int i = 0; i < kElements; ++i) sum += product(a[i], b[i]);
  return sum;
}
/// At most 16 * 127^2: far from overflow before it is widened.
template <>
__device__ __forceinline__ long long dot_16_bytes<std::int8_t>(uint4 x, uint4 y, long long sum) {
  int s = __dp4a(static_cast<int>(x.x), static_cast<int>(y.x), 0);
  s = __dp4a(static_cast<int>(x.y), static_cast<int>(y.y), s);
  s = __dp4a(static_cast<int>(x.z), static_cast<int>(y.z), s);
  return sum + __dp4a(static_cast<int>(x.w), static_cast<int>(y.w), s);
}

template <class S>
__device__ __forceinline__ S warp_sum(S sum) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  return sum;
}

/// The sum over the block, in thread 0.
template <class S>
__device__ __forceinline__ S block_sum(S sum, S* of_warps) {
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return warp_sum(threadIdx.x < kWarps ? of_warps[threadIdx.x] : S{0});
}

/// What this thread has of x . y.
template <class T>
__device__ __forceinline__ Sum<T> share(const T* x, const T* y, std::int64_t n) {
  constexpr std::int64_t kElements = 16 / sizeof(T);
  const auto* xv = reinterpret_cast<const uint4*>(x);
  const std::int64_t vectors = n / kElements;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;

  Sum<T> sum[kUnroll] = {};
  // One pointer that moves, and where y lies from there: registers are what two blocks an SM lack.
  const std::int64_t to_y = reinterpret_cast<const char*>(y) - reinterpret_cast<const char*>(x);
  const auto y_at = [&](const uint4* at) { return reinterpret_cast<const char*>(at) + to_y; };
  const uint4* at = xv + first;
  const uint4* const end = xv + vectors;
  const auto next = [&](bool whole) {
    uint4 a[kUnroll], b[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint4* from = at + u * step;
      if (!whole && from >= end) from = end - 1;
      a[u] = ptx::load_streaming(from);
      b[u] = ptx::load_streaming(y_at(from));
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      if (whole || at + u * step < end) sum[u] = dot_16_bytes<T>(a[u], b[u], sum[u]);
  };
#pragma unroll 1
  for (; at + (kUnroll - 1) * step < end; at += kUnroll * step) next(true);
  // The rest at once too: what is missing is the last vector again, and does not count.
  if (at < end) next(false);
  if (const std::int64_t tail = vectors * kElements + first; tail < n)
    sum[0] += product(x[tail], y[tail]);

  Sum<T> mine = sum[0];
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) mine += sum[u];
  return mine;
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    dot_vector(const T* x, const T* y, std::int64_t n, int repeats, Sum<T>* result,
               Partials<T>* partials) {
  __shared__ Sum<T> of_warps[kWarps];
  __shared__ bool last;
#pragma unroll 1
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Sum<T> mine = share(x, y, n);
    __syncthreads();  // of_warps and last are used again
    const Sum<T> of_block = block_sum(mine, of_warps);
    if (threadIdx.x == 0) {
      partials->sums[repeat][blockIdx.x] = of_block;
      __threadfence();  // the sum is visible before it is counted
      last = atomicInc(&partials->finished[repeat], gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) continue;
    __threadfence();  // and the others' sums are read after they were counted
    Sum<T> total = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads)
      total += static_cast<volatile Sum<T>*>(partials->sums[repeat])[block];
    __syncthreads();
    total = block_sum(total, of_warps);
    if (threadIdx.x == 0) *result = total;
  }
}

template <class T>
std::int64_t launch(const GpuArguments& a, cudaStream_t stream) {
  const std::int64_t per_block = kThreads * (16 / sizeof(T));
  std::int64_t blocks = (a.n + per_block - 1) / per_block;
  if (blocks > a.sms * kBlocksPerSm) blocks = a.sms * kBlocksPerSm;
  if (blocks > kMaxBlocks) blocks = kMaxBlocks;
  dot_vector<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const T*>(a.x), static_cast<const T*>(a.y), a.n, a.repeats,
      static_cast<Sum<T>*>(a.result), static_cast<Partials<T>*>(a.workspace));
  CUDA_CHECK_LAUNCH("dot_vector");
  return 1;
}

}  // namespace

extern const GpuKernel sm80_v3_vector = {.f64 = launch<double>,
                                         .f32 = launch<float>,
                                         .bf16 = launch<bf16>,
                                         .s8 = launch<std::int8_t>,
                                         .max_repeats = kMaxRepeats};

}  // namespace kernels::dot
