// Idea: 16 bytes of x and of y a load.
// Bound: bytes in flight: 48 KB an SM, but each thread waits for its pair before it asks for the
// next.
// Gains over v3: up to 16 times fewer instructions and as many more bytes in flight, by type: on an
// H200, 1 GiB, 1.05 in fp64, 1.4 in fp32, 2.5 in bf16, 4.7 in int8: 4.46 TB/s in each.
#include "kernels/dot/dot_gpu.cuh"

namespace kernels::dot {
namespace {

constexpr int kThreads = 512, kBlocksPerSm = 3;  // all threads of sm_86 and later

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    dot_vector(const T* x, const T* y, std::int64_t n, Sum<T>* result) {
  __shared__ Sum<T> of_warps[kThreads / 32];
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  constexpr std::int64_t kElements = 16 / sizeof(T);
  const std::int64_t vectors = n / kElements;
  const auto *xv = reinterpret_cast<const uint4*>(x), *yv = reinterpret_cast<const uint4*>(y);
  Sum<T> sum = 0;
#pragma unroll 1
  for (std::int64_t i = first; i < vectors; i += step) sum = dot_16_bytes<T>(xv[i], yv[i], sum);
  if (const std::int64_t tail = vectors * kElements + first; tail < n)
    sum += product(x[tail], y[tail]);
  sum = block_sum<kThreads>(sum, of_warps);
  if (threadIdx.x == 0) atomic_add(result, sum);
}

template <class T>
std::int64_t launch(const GpuArguments& a, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(a.results, 0, sizeof(Sum<T>), stream));
  dot_vector<<<a.sms * kBlocksPerSm, kThreads, 0, stream>>>(
      static_cast<const T*>(a.x), static_cast<const T*>(a.y), a.n, static_cast<Sum<T>*>(a.results));
  CUDA_CHECK_LAUNCH("dot_vector");
  return 2;
}

}  // namespace

extern const GpuKernel sm80_v4_vector = {
    .f64 = launch<double>, .f32 = launch<float>, .bf16 = launch<bf16>, .s8 = launch<std::int8_t>};

}  // namespace kernels::dot
