// Idea: m64n256 wgmma on resident shared-memory tiles, one accumulator tile a warpgroup, two
// warpgroups an SM that hide each other's waits.
// Bound: the tensor cores: 4096 bf16 FLOP a clock and SM, half in tf32, twice in fp8 and int8.
// Gains over mma: operands come from shared memory without passing through registers.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/wgmma.cuh"
#include "kernels/fma_peak/fma_peak_tensor.cuh"

namespace kernels::fma_peak {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kThreads = 128, kBlocksPerSm = 2;
constexpr int kM = 64, kN = 256;
constexpr int kRowBytes = 128;          ///< K of a tile: one swizzled row
constexpr int kSteps = kRowBytes / 32;  ///< instructions an iteration
constexpr int kRegisters = kM * kN / kThreads;

struct alignas(1024) Tiles {
  unsigned char a[kM * kRowBytes];
  unsigned char b[kN * kRowBytes];  ///< row n holds column n of B
};
static_assert(sizeof(Tiles::a) % 1024 == 0, "the swizzle pattern starts on 1024 bytes");
static_assert(sizeof(Tiles) <= 48 << 10, "static shared memory");

template <class Element>
__device__ void fill(unsigned char* tile, int rows, std::uint64_t seed, bool zeros) {
  constexpr int kK = kRowBytes / sizeof(Element);
  for (int i = threadIdx.x; i < rows * kK; i += kThreads) {
    Element e = element<Element>(seed, i / kK, i % kK);
    if (zeros) memset(&e, 0, sizeof e);
    memcpy(tile + ptx::swizzle_128(i * sizeof e), &e, sizeof e);
  }
}

template <class Type, auto wgmma>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) wgmma_chain(GpuArguments args) {
  __shared__ Tiles tiles;
  fill<typename Type::Element>(tiles.a, kM, kSeedA, args.zeros);
  fill<typename Type::Element>(tiles.b, kN, kSeedB, args.zeros);
  ptx::fence_async_proxy();
  __syncthreads();
  const std::uint64_t a = ptx::descriptor_k_major_128(ptx::shared_address(tiles.a));
  const std::uint64_t b = ptx::descriptor_k_major_128(ptx::shared_address(tiles.b));

  typename Type::Accumulator d[kRegisters] = {};
  ptx::pin(d);
#pragma unroll 1
  for (std::int64_t i = 0; i < args.iterations; ++i) {
    ptx::wgmma_fence();
#pragma unroll
    for (int s = 0; s < kSteps; ++s) wgmma(d, a + 2 * s, b + 2 * s);
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

template <class Type, auto wgmma>
void launch(const GpuArguments& a, cudaStream_t stream) {
  wgmma_chain<Type, wgmma><<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("wgmma_chain");
}

template <class Type>
std::vector<double> expected(std::int64_t iterations) {
  using Element = typename Type::Element;
  constexpr int kK = kRowBytes / sizeof(Element);
  std::vector<double> sums(kThreads);
  for (int t = 0; t < kThreads; ++t)
    for (int r = 0; r < kRegisters; ++r) {
      const int row = 16 * (t / 32) + t % 32 / 4 + 8 * ((r >> 1) & 1);
      const int column = 8 * (r >> 2) + 2 * (t % 4) + (r & 1);
      double entry = 0;
      for (int k = 0; k < kK; ++k)
        entry += Type::seen(element<Element>(kSeedA, row, k)) *
                 Type::seen(element<Element>(kSeedB, column, k));
      entry *= static_cast<double>(iterations);
      if (std::is_same_v<Type, S8>)
        entry = static_cast<std::int32_t>(static_cast<std::int64_t>(entry));
      sums[t] += entry;
    }
  return sums;
}

template <class Type, auto wgmma>
constexpr GpuChain chain_of() {
  return {.launch = launch<Type, wgmma>,
          .expected = expected<Type>,
          .flops_per_iteration = 2.0 * kM * kN * kRowBytes / sizeof(typename Type::Element),
          .threads = kThreads,
          .blocks_per_sm = kBlocksPerSm,
          .tolerance = tolerance<Type>(kGpuIterations * kSteps)};
}

}  // namespace

extern const GpuKernel sm90a_wgmma = {.exec_unit = "wgmma",
                                      .tf32 = chain_of<Tf32, ptx::wgmma_m64n256k8_tf32>(),
                                      .bf16 = chain_of<Bf16, ptx::wgmma_m64n256k16_bf16>(),
                                      .f16 = chain_of<F16, ptx::wgmma_m64n256k16_f16>(),
                                      .e4m3 = chain_of<E4m3, ptx::wgmma_m64n256k32_e4m3>(),
                                      .s8 = chain_of<S8, ptx::wgmma_m64n256k32_s8>()};

}  // namespace kernels::fma_peak
