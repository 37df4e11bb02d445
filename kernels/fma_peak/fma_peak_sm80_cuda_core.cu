// Idea: eight independent FMA chains a thread on registers, all warps busy; 16-bit types in pairs.
// Bound: the pipes of the CUDA cores: 64 (fp64), 128 (fp32), 256 (fp16, bf16) FMA a clock and SM on
// Hopper.
// Gains: the roof of everything that does not use tensor cores.
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/rounding.hpp"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/values.hpp"

namespace kernels::fma_peak {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 512, kBlocksPerSm = 2;
constexpr int kChains = 8;  ///< latency 4 x 1 warp a scheduler at least; there are 8 warps besides
/// Unrolled, so that the loop's three instructions and its jump cost under 1 % of the time, in code
/// that an SM's nearest instruction cache holds. fp64 in 16 steps gave 0.92 of its rate on an H200.
template <class T>
constexpr int kSteps = sizeof(T) == 8 ? 32 : 48;

/// Chain c of a thread does acc = acc * factor + term from its own start on, all below 1 in
/// magnitude: it stays bounded. With a term of each chain's own, three operands of every
/// instruction came from the register banks: on an H200 fp64 gave 0.92 and bf16 0.53 of its rate.
template <class T>
__host__ __device__ T factor_of(int thread) {
  return random_value<T>(kSeedA, thread);
}
template <class T>
__host__ __device__ T term_of(int thread) {
  return random_value<T>(kSeedB, thread);
}
template <class T>
__host__ __device__ T start_of(int thread, int chain) {
  return random_value<T>(kSeedStart, thread * kChains + chain);
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) fma_chains(GpuArguments a) {
  const T scale = a.zeros ? T{0} : T{1};
  const T factor = scale * factor_of<T>(threadIdx.x), term = scale * term_of<T>(threadIdx.x);
  T acc[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) acc[c] = scale * start_of<T>(threadIdx.x, c);
#pragma unroll 1
  for (auto left = static_cast<std::uint32_t>(a.iterations); left > 0; --left) {
#pragma unroll
    for (int s = 0; s < kSteps<T>; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) acc[c] = fma(acc[c], factor, term);
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

template <class T>
__host__ __device__ T narrow(float x) {
  return static_cast<T>(x);
}
template <>
__host__ __device__ __half narrow<__half>(float x) {
  return __float2half_rn(x);
}
/// Below 1 after rounding too.
template <class T>
__host__ __device__ T pair_factor(int thread, int half) {
  return narrow<T>(0.875f * factor_of<float>(2 * thread + half));
}
template <class T>
__host__ __device__ T pair_term(int thread, int half) {
  return narrow<T>(term_of<float>(2 * thread + half));
}
template <class T>
__host__ __device__ T pair_start(int thread, int chain, int half) {
  return narrow<T>(start_of<float>(2 * thread + half, chain));
}
template <class T>
__device__ std::uint32_t packed(T low, T high) {
  const T both[2] = {low, high};
  std::uint32_t word;
  memcpy(&word, both, 4);
  return word;
}

template <class T, auto fma_pair>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) pair_chains(GpuArguments a) {
  const int t = threadIdx.x;
  const std::uint32_t factor = a.zeros ? 0 : packed(pair_factor<T>(t, 0), pair_factor<T>(t, 1));
  const std::uint32_t term = a.zeros ? 0 : packed(pair_term<T>(t, 0), pair_term<T>(t, 1));
  std::uint32_t acc[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c)
    acc[c] = a.zeros ? 0 : packed(pair_start<T>(t, c, 0), pair_start<T>(t, c, 1));
#pragma unroll 1
  for (auto left = static_cast<std::uint32_t>(a.iterations); left > 0; --left) {
#pragma unroll
    for (int s = 0; s < kSteps<T>; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) fma_pair(acc[c], factor, term);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    T both[2];
    memcpy(both, &acc[c], 4);
    sum += static_cast<double>(static_cast<float>(both[0])) + static_cast<float>(both[1]);
  }
  a.sums[blockIdx.x * kThreads + t] = sum;
}

template <class T, auto fma_pair>
void launch_pairs(const GpuArguments& a, cudaStream_t stream) {
  pair_chains<T, fma_pair><<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("pair_chains");
}

template <class T>
std::vector<double> expected_pairs(std::int64_t iterations) {
  const auto wide = [](T x) { return static_cast<double>(static_cast<float>(x)); };
  std::vector<double> sums(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int c = 0; c < kChains; ++c)
      for (int half = 0; half < 2; ++half) {
        const double factor = wide(pair_factor<T>(thread, half));
        const double term = wide(pair_term<T>(thread, half));
        T acc = pair_start<T>(thread, c, half);
        for (std::int64_t i = 0; i < iterations * kSteps<T>; ++i)
          acc = narrow<T>(cuda::round_to_odd(wide(acc) * factor + term));
        sums[thread] += wide(acc);
      }
  return sums;
}

/// Two multiply-adds an instruction.
template <class T, auto fma_pair>
constexpr GpuChain pairs() {
  return {.launch = launch_pairs<T, fma_pair>,
          .expected = expected_pairs<T>,
          .flops_per_iteration = 4.0 * kThreads * kChains * kSteps<T>,
          .threads = kThreads,
          .blocks_per_sm = kBlocksPerSm};
}

/// To the bit: a fused multiply-add is the same on host and device.
template <class T>
std::vector<double> expected(std::int64_t iterations) {
  std::vector<double> sums(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int c = 0; c < kChains; ++c) {
      T acc = start_of<T>(thread, c);
      for (std::int64_t i = 0; i < iterations * kSteps<T>; ++i)
        acc = std::fma(acc, factor_of<T>(thread), term_of<T>(thread));
      sums[thread] += acc;
    }
  return sums;
}

template <class T>
constexpr GpuChain chain() {
  return {.launch = launch<T>,
          .expected = expected<T>,
          .flops_per_iteration = 2.0 * kThreads * kChains * kSteps<T>,
          .threads = kThreads,
          .blocks_per_sm = kBlocksPerSm};
}

}  // namespace

extern const GpuKernel sm80_cuda_core = {.exec_unit = "cuda-core",
                                         .f64 = chain<double>(),
                                         .f32 = chain<float>(),
                                         .bf16 = pairs<bf16, ptx::fma_bf16x2>(),
                                         .f16 = pairs<__half, ptx::fma_f16x2>()};

}  // namespace kernels::fma_peak
