// Idea: fp64 by m16n8k16, eight times the work of an instruction that sm_80 has.
// Bound: Hopper's tensor cores in fp64, which wgmma does not do: 256 FLOP a clock and SM.
// Gains over sm80_mma: up to 2 times; m8n8k4 reached 31 of 67 TFLOP/s in a matmul, shapes of 16
// rows 53 (triton-lang/triton#10313).
#include "kernels/fma_peak/fma_peak_mma.cuh"

namespace kernels::fma_peak {
namespace {

constexpr int kK = 16;

__global__ void __launch_bounds__(kThreads, kBlocksPerSm) mma_chains_f64_k16(GpuArguments args) {
  const int lane = threadIdx.x % 32;
  const double scale = args.zeros ? 0 : 1;
  double a[8], b[4];
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const At at = a_at<1>(lane, r, 0);
    a[r] = scale * element<double>(kSeedA, at.row, at.column);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const At at = b_at<1>(lane, r, 0);
    b[r] = scale * element<double>(kSeedB, at.column, at.row);
  }
  run_chains<ptx::mma_f64_k16, double, 4>(args, a, b);
}

void launch_f64(const GpuArguments& a, cudaStream_t stream) {
  mma_chains_f64_k16<<<a.blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma_chains_f64_k16");
}

std::vector<double> expected_f64(std::int64_t iterations) {
  const auto product = [](int row, int column) {
    double sum = 0;
    for (int k = 0; k < kK; ++k)
      sum += element<double>(kSeedA, row, k) * element<double>(kSeedB, column, k);
    return sum;
  };
  return sums_of(iterations, 4, false, product, [](int lane, int r) { return d_at(lane, r); });
}

}  // namespace

extern const GpuKernel sm90a_mma = {.exec_unit = "mma",
                                    .f64 = chain(launch_f64, expected_f64, 16 * 8 * kK, 1e-12)};

}  // namespace kernels::fma_peak
