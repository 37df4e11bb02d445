// Idea: eight independent FMA chains a thread on registers, all warps busy.
// Bound: the fp32 and fp64 pipes: 128 and 64 FMA a clock and SM on Hopper.
// Gains: the roof of everything that does not use tensor cores.
#include <cmath>

#include "kernels/cuda/check.hpp"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/values.hpp"

namespace kernels::fma_peak {
namespace {

constexpr int kThreads = 512, kBlocksPerSm = 2;
constexpr int kChains = 8;  ///< latency 4 x 1 warp a scheduler at least; there are 8 warps besides
constexpr int kSteps = 16;  ///< unrolled, so that the loop itself costs under 1 %

/// Chain c of a thread does acc = acc * factor + term, both below 1 in magnitude: it stays bounded.
template <class T>
__host__ __device__ T factor_of(int thread) {
  return random_value<T>(kSeedA, thread);
}
template <class T>
__host__ __device__ T term_of(int thread, int chain) {
  return random_value<T>(kSeedB, thread * kChains + chain);
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) fma_chains(GpuArguments a) {
  const T scale = a.zeros ? T{0} : T{1};
  const T factor = scale * factor_of<T>(threadIdx.x);
  T term[kChains], acc[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    term[c] = scale * term_of<T>(threadIdx.x, c);
    acc[c] = 0;
  }
#pragma unroll 1
  for (std::int64_t i = 0; i < a.iterations; ++i) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) acc[c] = fma(acc[c], factor, term[c]);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += acc[c];
  a.sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

template <class T>
void launch(const GpuArguments& a, cudaStream_t stream) {
  fma_chains<T><<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("fma_chains");
}

/// To the bit: a fused multiply-add is the same on host and device.
template <class T>
std::vector<double> expected(std::int64_t iterations) {
  std::vector<double> sums(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int c = 0; c < kChains; ++c) {
      T acc = 0;
      for (std::int64_t i = 0; i < iterations * kSteps; ++i)
        acc = std::fma(acc, factor_of<T>(thread), term_of<T>(thread, c));
      sums[thread] += acc;
    }
  return sums;
}

template <class T>
constexpr GpuChain chain() {
  return {.launch = launch<T>,
          .expected = expected<T>,
          .flops_per_iteration = 2.0 * kThreads * kChains * kSteps,
          .threads = kThreads,
          .blocks_per_sm = kBlocksPerSm};
}

}  // namespace

extern const GpuKernel sm80_cuda_core = {
    .exec_unit = "cuda-core", .f64 = chain<double>(), .f32 = chain<float>()};

}  // namespace kernels::fma_peak
