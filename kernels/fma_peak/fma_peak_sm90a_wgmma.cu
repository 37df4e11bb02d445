// Idea: m64n256k16 wgmma on resident shared-memory tiles, one accumulator tile a warpgroup, two
// warpgroups an SM that hide each other's waits.
// Bound: the tensor cores: 4096 bf16 FLOP a clock and SM.
// Gains over mma: operands come from shared memory without passing through registers.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/wgmma.cuh"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/values.hpp"

namespace kernels::fma_peak {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 128, kBlocksPerSm = 2;
constexpr int kM = 64, kN = 256, kK = 64;  ///< K of a tile: one swizzled row of 128 bytes
constexpr int kSteps = kK / 16;            ///< instructions an iteration
constexpr int kRegisters = kM * kN / kThreads;

struct alignas(1024) Tiles {
  bf16 a[kM * kK];
  bf16 b[kN * kK];  ///< row n holds column n of B
};
static_assert(sizeof(Tiles::a) % 1024 == 0, "the swizzle pattern starts on 1024 bytes");
static_assert(kK * sizeof(bf16) == 128, "a row is one swizzle span");
static_assert(sizeof(Tiles) <= 48 << 10, "static shared memory");

__host__ __device__ inline bf16 element(std::uint64_t seed, int row, int k) {
  return random_value<bf16>(seed, row * kK + k);
}

__device__ void fill(bf16* tile, int rows, std::uint64_t seed, bool zeros) {
  for (int i = threadIdx.x; i < rows * kK; i += kThreads) {
    const std::uint32_t at = ptx::swizzle_128(i * sizeof(bf16)) / sizeof(bf16);
    tile[at] = zeros ? bf16(0.0f) : element(seed, i / kK, i % kK);
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) wgmma_chain(GpuArguments args) {
  __shared__ Tiles tiles;
  fill(tiles.a, kM, kSeedA, args.zeros);
  fill(tiles.b, kN, kSeedB, args.zeros);
  ptx::fence_async_proxy();
  __syncthreads();
  const std::uint64_t a = ptx::descriptor_k_major_128(ptx::shared_address(tiles.a));
  const std::uint64_t b = ptx::descriptor_k_major_128(ptx::shared_address(tiles.b));

  float d[kRegisters] = {};
  ptx::pin(d);
#pragma unroll 1
  for (std::int64_t i = 0; i < args.iterations; ++i) {
    ptx::wgmma_fence();
#pragma unroll
    for (int s = 0; s < kSteps; ++s) ptx::wgmma_m64n256k16_bf16(d, a + 2 * s, b + 2 * s);
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
  }
  ptx::wgmma_wait<0>();
  ptx::pin(d);
  double sum = 0;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) sum += d[r];
  args.sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  wgmma_chain<<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("wgmma_chain");
}

std::vector<double> expected(std::int64_t iterations) {
  std::vector<double> sums(kThreads);
  for (int t = 0; t < kThreads; ++t)
    for (int r = 0; r < kRegisters; ++r) {
      const int row = 16 * (t / 32) + t % 32 / 4 + 8 * ((r >> 1) & 1);
      const int column = 8 * (r >> 2) + 2 * (t % 4) + (r & 1);
      double entry = 0;
      for (int k = 0; k < kK; ++k)
        entry += static_cast<double>(element(kSeedA, row, k)) *
                 static_cast<double>(element(kSeedB, column, k));
      sums[t] += entry * static_cast<double>(iterations);
    }
  return sums;
}

}  // namespace

extern const GpuKernel sm90a_wgmma = {.exec_unit = "wgmma",
                                      .bf16 = {.launch = launch,
                                               .expected = expected,
                                               .flops_per_iteration = 2.0 * kM * kN * kK,
                                               .threads = kThreads,
                                               .blocks_per_sm = kBlocksPerSm,
                                               .tolerance = kGpuIterations * kSteps * 0x1p-21}};

}  // namespace kernels::fma_peak
