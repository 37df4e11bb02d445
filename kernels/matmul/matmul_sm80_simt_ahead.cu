// Idea: v6's tiles, with a thread's next values on their way to registers while those at hand are
// multiplied, and steps of 16: Y by cp.async, X by 16-byte loads a whole step ahead of its stores.
// Each Y in a register serves two rows of sums, so that multiply-adds seldom meet in its bank.
// Bound: the fp32 pipes: 64 multiply-adds for four 16-byte reads.
// Gains over v6: no wait for shared memory and half the barriers: 1.30 times v6 at 4096 cubed on an
// H200, 50.4 TFLOP/s; cuBLAS is at 1.02 times this.
// Tried: X by 4-byte cp.async, four look-ups of lines in L1 for one: 0.96, in steps of 8 0.95.
// Tried: 16 x 8 entries a thread: 0.95 to 0.97; of them X by registers 0.97.
// Tried: blocks of 64 x 128, four an SM: 0.99.
// Tried: steps of 8, with twice the barriers: 0.99; two a trip: 0.99, at 2048 cubed too.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/matmul/simt_ahead.cuh"

namespace kernels::matmul {
namespace {

using simt_ahead::kBlock, simt_ahead::kThreads, simt_ahead::Shared;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kBlocks = 1;  // ptxas is two registers short of two
#else
constexpr int kBlocks = 2;
#endif

__global__ void __launch_bounds__(kThreads, kBlocks) ahead_kernel(GpuArguments a) {
  simt_ahead::product(a, cuda::ptx::dynamic_shared<Shared>());
}

std::shared_ptr<void> open(const GpuArguments&, const GpuTypes&) {
  cuda::allow_shared(ahead_kernel, sizeof(Shared));
  return nullptr;
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  ahead_kernel<<<simt_ahead::grid_of(a), kThreads, sizeof(Shared), stream>>>(a);
  CUDA_CHECK_LAUNCH("matmul with values loaded ahead");
}

}  // namespace

extern const GpuKernel sm80_simt_ahead = {.exec_unit = "cuda-core",
                                          .f32 = launch,
                                          .tiles = {.block_m = kBlock,
                                                    .block_n = kBlock,
                                                    .block_k = simt_ahead::kStep,
                                                    .warp_m = simt_ahead::kWarpM,
                                                    .warp_n = simt_ahead::kWarpN},
                                          .max_m = kBlock * kMaxGridY,
                                          .open = open};

}  // namespace kernels::matmul
