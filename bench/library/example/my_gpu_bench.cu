// y = a x + y in GPU memory, timed by events.
#include <benchmark/benchmark.h>

#include <roofline/bench.hpp>
#include <roofline/bench_cuda.hpp>

namespace {

__global__ void saxpy_kernel(const float* x, float* y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 3 * x[i];
}

void saxpy(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  float *x = nullptr, *y = nullptr;
  if (const cudaError_t fault = cudaMalloc(&x, n * sizeof(float)); fault != cudaSuccess) {
    state.SkipWithError(cudaGetErrorString(fault));
    return;
  }
  if (const cudaError_t fault = cudaMalloc(&y, n * sizeof(float)); fault != cudaSuccess) {
    cudaFree(x);
    state.SkipWithError(cudaGetErrorString(fault));
    return;
  }
  cudaMemset(x, 0, n * sizeof(float));
  cudaMemset(y, 0, n * sizeof(float));
  const cudaStream_t stream = nullptr;
  roofline::time_on_gpu(state, stream, [&] {
    saxpy_kernel<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  });
  roofline::Work work;
  work.flops = 2.0 * static_cast<double>(n);
  work.bytes = 3.0 * sizeof(float) * static_cast<double>(n);
  work.dtype = "f32";
  work.device = "gpu";
  work.exec_unit = "cuda-core";
  roofline::report(state, work);
  cudaFree(x);
  cudaFree(y);
}
BENCHMARK(saxpy)->Arg(1 << 26)->UseManualTime();

}  // namespace
