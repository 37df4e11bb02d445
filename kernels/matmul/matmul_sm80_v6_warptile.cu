// Idea: a warp's entries are 32 x 64 of Z in place of 16 x 128, so that its threads share more of
// what they read.
// Bound: the fp32 pipes: for 64 multiply-adds a thread a warp reads 384 bytes.
// Gains over v5: a third less from shared memory, which was not what held v5 back: 1.00 times v5 at
// 4096 cubed on an H200, 38.7 TFLOP/s.
#include "kernels/cuda/check.hpp"
#include "kernels/matmul/simt_tile.cuh"

namespace kernels::matmul {
namespace {

using simt::kBlock, simt::kThreads;

__global__ void __launch_bounds__(kThreads, 2) warptile_kernel(GpuArguments a) {
  __shared__ simt::Tiles tiles;
  simt::product_by_registers(a, simt::WarpTile(threadIdx.x), tiles);
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  warptile_kernel<<<simt::grid_of(a), kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("warp-tile matmul");
}

}  // namespace

extern const GpuKernel sm80_v6_warptile = {.exec_unit = "cuda-core",
                                           .f32 = launch,
                                           .tiles = {.block_m = kBlock,
                                                     .block_n = kBlock,
                                                     .block_k = simt::kStep,
                                                     .warp_m = simt::WarpTile::kRows,
                                                     .warp_n = simt::WarpTile::kColumns}};

}  // namespace kernels::matmul
