// Idea: mma.sync chains on registers: eight accumulators a warp, sixteen warps an SM.
// Bound: the tensor cores as mma.sync reaches them: all of an A100, some 63 % of Hopper's wgmma.
// Gains over cuda_core: 8 (tf32) to 64 times (int8) on Hopper by the sheet.
#include <cuda_fp16.h>

#include <cstring>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/fragments.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/values.hpp"

namespace kernels::fma_peak {
namespace {

namespace ptx = kernels::cuda::ptx;
using cuda::a_at;
using cuda::At;
using cuda::b_at;
using cuda::d_at;

constexpr int kThreads = 256, kBlocksPerSm = 2, kWarps = kThreads / 32;
constexpr int kChains = 8, kSteps = 4;
/// Largest contraction of one instruction: int8.
constexpr int kMaxK = 32;

template <class T>
__host__ __device__ T element(std::uint64_t seed, int row, int column) {
  return random_value<T>(seed, row * kMaxK + column);
}
template <>
__host__ __device__ __half element<__half>(std::uint64_t seed, int row, int column) {
  return __float2half_rn(element<float>(seed, row, column));
}

// What each instruction multiplies, adds in, and how.
struct Tf32 {
  using Element = float;
  using Accumulator = float;
  static __device__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    ptx::mma_tf32(d, a, b);
  }
  /// The tensor core looks at the upper 19 bits only.
  static double seen(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, 4);
    u &= 0xffffe000u;
    std::memcpy(&x, &u, 4);
    return x;
  }
};
struct Bf16 {
  using Element = bf16;
  using Accumulator = float;
  static __device__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    ptx::mma_bf16(d, a, b);
  }
  static double seen(bf16 x) { return static_cast<double>(x); }
};
struct F16 {
  using Element = __half;
  using Accumulator = float;
  static __device__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    ptx::mma_f16(d, a, b);
  }
  static double seen(__half x) { return __half2float(x); }
};
struct S8 {
  using Element = std::int8_t;
  using Accumulator = int;
  static __device__ void mma(int (&d)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    ptx::mma_s8(d, a, b);
  }
  static double seen(std::int8_t x) { return x; }
};

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

template <class Type>
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
      b[r] = packed<Element, kSeedB>([=](int i) { return b_at<kPer>(lane, r, i); });
  }
  typename Type::Accumulator d[kChains][4] = {};
#pragma unroll 1
  for (std::int64_t i = 0; i < args.iterations; ++i) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) Type::mma(d[c], a, b);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c)
#pragma unroll
    for (int r = 0; r < 4; ++r) sum += d[c][r];
  args.sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) mma_chains_f64(GpuArguments args) {
  const int lane = threadIdx.x % 32;
  const double scale = args.zeros ? 0 : 1;
  const double a = scale * element<double>(kSeedA, lane / 4, lane % 4);
  const double b = scale * element<double>(kSeedB, lane % 4, lane / 4);
  double d[kChains][2] = {};
#pragma unroll 1
  for (std::int64_t i = 0; i < args.iterations; ++i) {
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
#pragma unroll
      for (int c = 0; c < kChains; ++c) ptx::mma_f64(d[c], a, b);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += d[c][0] + d[c][1];
  args.sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  mma_chains<Type><<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma_chains");
}

void launch_f64(const GpuArguments& a, cudaStream_t stream) {
  mma_chains_f64<<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma_chains_f64");
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
             Type::seen(element<Element>(kSeedB, k, column));
    return sum;
  };
  return sums_of(iterations, 4, sizeof(Element) == 1, product,
                 [](int lane, int r) { return d_at(lane, r); });
}

std::vector<double> expected_f64(std::int64_t iterations) {
  const auto product = [](int row, int column) {
    double sum = 0;
    for (int k = 0; k < 4; ++k)
      sum += element<double>(kSeedA, row, k) * element<double>(kSeedB, k, column);
    return sum;
  };
  return sums_of(iterations, 2, false, product, [](int lane, int r) {
    return At{lane / 4, 2 * (lane % 4) + r};
  });
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

/// kGpuIterations * kSteps additions in fp32, each cut off by up to 2^-21 of the sum (tensor cores
/// do not round to nearest).
constexpr double kFp32 = kGpuIterations * kSteps * 0x1p-21;
constexpr double kM16N8 = 16 * 8;

}  // namespace

extern const GpuKernel sm80_mma = {.exec_unit = "mma",
                                   .f64 = chain(launch_f64, expected_f64, 8 * 8 * 4, 1e-12),
                                   .tf32 = chain(launch<Tf32>, expected<Tf32>, kM16N8 * 8, kFp32),
                                   .bf16 = chain(launch<Bf16>, expected<Bf16>, kM16N8 * 16, kFp32),
                                   .f16 = chain(launch<F16>, expected<F16>, kM16N8 * 16, kFp32),
                                   .s8 = chain(launch<S8>, expected<S8>, kM16N8 * 32, 0)};

}  // namespace kernels::fma_peak
