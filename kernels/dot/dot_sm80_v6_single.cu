// Idea: one launch does it all: the last block to finish adds up what the others left.
// Bound: the HBM read roof (L2's when resident); launch time below a few megabytes.
// Gains over v5: no memset and no atomics on one address: nothing on an H200 at 1 GiB, where it is
// 1.04 times cuBLAS and 1.02 times CUB in fp32, 1.34 and 1.92 times CUB in bf16 and int8. Products
// that share a launch: 3.3 us each for 16 MB from L2, half of a launch's time, where blocks added
// up after every product; warps that go on to the next one instead are not timed yet (L2
// takes 1.5).
#include "kernels/dot/dot_gpu.cuh"

namespace kernels::dot {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr int kBlocksPerSm = 2;
constexpr int kUnroll = 4;
constexpr int kMaxBlocks = 512, kMaxRepeats = 32;

/// In the workspace. The counter returns to 0 by itself (atomicInc wraps).
template <class T>
struct Partials {
  alignas(8) unsigned finished;
  Sum<T> sums[kMaxRepeats][kMaxBlocks];
};
static_assert(sizeof(Partials<double>) <= kWorkspaceBytes);

/// No warp waits for another before all products are through: the loads of one and the sums of
/// another lie side by side. Then each warp adds up every kWarps-th product.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    dot_single(const T* x, const T* y, std::int64_t n, int repeats, Sum<T>* results,
               Partials<T>* partials) {
  __shared__ Sum<T> of_warps[kMaxRepeats][kWarps];
  __shared__ bool last;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const Sum<T> of_warp = warp_sum(share<kThreads, kUnroll>(x, y, n));
    if (lane == 0) of_warps[repeat][warp] = of_warp;
  }
  __syncthreads();
  for (int repeat = warp; repeat < repeats; repeat += kWarps) {
    const Sum<T> of_block = warp_sum(lane < kWarps ? of_warps[repeat][lane] : Sum<T>{0});
    if (lane == 0) partials->sums[repeat][blockIdx.x] = of_block;
  }
  __threadfence();  // sums are visible before they are counted
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(&partials->finished, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();  // and the others' sums are read after they were counted
  for (int repeat = warp; repeat < repeats; repeat += kWarps) {
    Sum<T> total = 0;
    for (unsigned block = lane; block < gridDim.x; block += 32)
      total += __ldcg(&partials->sums[repeat][block]);
    total = warp_sum(total);
    if (lane == 0) results[repeat] = total;
  }
}

template <class T>
std::int64_t launch(const GpuArguments& a, cudaStream_t stream) {
  const std::int64_t per_block = kThreads * (16 / sizeof(T));
  std::int64_t blocks = (a.n + per_block - 1) / per_block;
  if (blocks > a.sms * kBlocksPerSm) blocks = a.sms * kBlocksPerSm;
  if (blocks > kMaxBlocks) blocks = kMaxBlocks;
  dot_single<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const T*>(a.x), static_cast<const T*>(a.y), a.n, a.repeats,
      static_cast<Sum<T>*>(a.results), static_cast<Partials<T>*>(a.workspace));
  CUDA_CHECK_LAUNCH("dot_single");
  return 1;
}

}  // namespace

extern const GpuKernel sm80_v6_single = {.f64 = launch<double>,
                                         .f32 = launch<float>,
                                         .bf16 = launch<bf16>,
                                         .s8 = launch<std::int8_t>,
                                         .max_repeats = kMaxRepeats};

}  // namespace kernels::dot
