// The mma.sync probe: eight accumulators a warp, sixteen warps an SM.
#pragma once

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/fragments.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/fma_peak/fma_peak_tensor.cuh"

namespace kernels::fma_peak {
namespace {

namespace ptx = kernels::cuda::ptx;
using cuda::a_at;
using cuda::At;
using cuda::b_at;
using cuda::d_at;

constexpr int kThreads = 256, kBlocksPerSm = 2, kWarps = kThreads / 32;
constexpr int kChains = 8, kSteps = 4;

/// One register: the elements at place(0), place(1), … from its low bits up. Not unrolled, else the
/// hashes of all registers are computed side by side and spill.
template <class Element, std::uint64_t seed, class Place>
__device__ std::uint32_t packed(Place place) {
  constexpr int kPer = 4 / sizeof(Element);
  std::uint32_t word = 0;
#pragma unroll 1
  for (int i = 0; i < kPer; ++i) {
    const At at = place(i);
    const Element e = element<Element>(seed, at.row, at.column);
    std::uint32_t bits = 0;
    memcpy(&bits, &e, sizeof e);
    word |= bits << (32 / kPer * i);
  }
  return word;
}

/// Chains of `mma` with `registers` sums a thread, from zero on; their sum is what the probe is
/// checked by.
template <auto mma, class Accumulator, int registers, class A, class B>
__device__ __forceinline__ void run_chains(const GpuArguments& args, const A& a, const B& b) {
  Accumulator d[kChains][registers] = {};
#pragma unroll 1
  for (std::int64_t i = 0; i < args.iterations; ++i) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) mma(d[c], a, b);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c)
#pragma unroll
    for (int r = 0; r < registers; ++r) sum += d[c][r];
  args.sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

/// `Type` is one of fma_peak_tensor.cuh, `mma` its instruction.
template <class Type, auto mma>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) mma_chains(GpuArguments args) {
  using Element = typename Type::Element;
  constexpr int kPer = 4 / sizeof(Element);
  const int lane = threadIdx.x % 32;
  std::uint32_t a[4] = {}, b[2] = {};
  if (!args.zeros) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
      a[r] = packed<Element, kSeedA>([=](int i) { return a_at<kPer>(lane, r, i); });
#pragma unroll
    for (int r = 0; r < 2; ++r)
      b[r] = packed<Element, kSeedB>([=](int i) {
        const At at = b_at<kPer>(lane, r, i);
        return At{at.column, at.row};
      });
  }
  run_chains<mma, typename Type::Accumulator, 4>(args, a, b);
}

template <class Type, auto mma>
void launch(const GpuArguments& a, cudaStream_t stream) {
  mma_chains<Type, mma><<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma_chains");
}

/// Every chain of every warp adds the same product `iterations * kSteps` times.
template <class Product, class Place>
std::vector<double> sums_of(std::int64_t iterations, int registers, bool wraps, Product product,
                            Place place) {
  std::vector<double> sums(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    for (int r = 0; r < registers; ++r) {
      const At at = place(thread % 32, r);
      double total = product(at.row, at.column) * static_cast<double>(iterations * kSteps);
      if (wraps) total = static_cast<std::int32_t>(static_cast<std::int64_t>(total));
      sums[thread] += kChains * total;
    }
  return sums;
}

template <class Type>
std::vector<double> expected(std::int64_t iterations) {
  using Element = typename Type::Element;
  constexpr int kK = 32 / static_cast<int>(sizeof(Element));
  const auto product = [](int row, int column) {
    double sum = 0;
    for (int k = 0; k < kK; ++k)
      sum += Type::seen(element<Element>(kSeedA, row, k)) *
             Type::seen(element<Element>(kSeedB, column, k));
    return sum;
  };
  return sums_of(iterations, 4, std::is_same_v<Type, S8>, product,
                 [](int lane, int r) { return d_at(lane, r); });
}

constexpr GpuChain chain(void (*launch)(const GpuArguments&, cudaStream_t),
                         std::vector<double> (*expected)(std::int64_t), double macs,
                         double tolerance) {
  return {.launch = launch,
          .expected = expected,
          .flops_per_iteration = 2.0 * macs * kWarps * kChains * kSteps,
          .threads = kThreads,
          .blocks_per_sm = kBlocksPerSm,
          .tolerance = tolerance};
}

template <class Type, auto mma>
constexpr GpuChain chain_of() {
  constexpr double kMacs = 16 * 8 * 32 / sizeof(typename Type::Element);
  return chain(launch<Type, mma>, expected<Type>, kMacs, tolerance<Type>(kGpuIterations * kSteps));
}

}  // namespace
}  // namespace kernels::fma_peak
