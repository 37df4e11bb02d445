// Idea: mma.sync chains on registers: eight accumulators a warp, sixteen warps an SM.
// Bound: the tensor cores as mma.sync reaches them: all of an A100, some 63 % of Hopper's wgmma.
// Gains over cuda_core: 8 (tf32) to 64 times (int8) on Hopper by the sheet.
#include "kernels/fma_peak/fma_peak_mma.cuh"

namespace kernels::fma_peak {
namespace {

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) mma_chains_f64(GpuArguments args) {
  const int lane = threadIdx.x % 32;
  const double scale = args.zeros ? 0 : 1;
  const double a = scale * element<double>(kSeedA, lane / 4, lane % 4);
  const double b = scale * element<double>(kSeedB, lane / 4, lane % 4);
  run_chains<ptx::mma_f64, double, 2>(args, a, b);
}

void launch_f64(const GpuArguments& a, cudaStream_t stream) {
  mma_chains_f64<<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma_chains_f64");
}

std::vector<double> expected_f64(std::int64_t iterations) {
  const auto product = [](int row, int column) {
    double sum = 0;
    for (int k = 0; k < 4; ++k)
      sum += element<double>(kSeedA, row, k) * element<double>(kSeedB, column, k);
    return sum;
  };
  return sums_of(iterations, 2, false, product, [](int lane, int r) {
    return At{lane / 4, 2 * (lane % 4) + r};
  });
}

}  // namespace

extern const GpuKernel sm80_mma = {.exec_unit = "mma",
                                   .f64 = chain(launch_f64, expected_f64, 8 * 8 * 4, 1e-12),
                                   .tf32 = chain_of<Tf32, ptx::mma_tf32>(),
                                   .bf16 = chain_of<Bf16, ptx::mma_bf16>(),
                                   .f16 = chain_of<F16, ptx::mma_f16>(),
                                   .s8 = chain_of<S8, ptx::mma_s8>()};

}  // namespace kernels::fma_peak
