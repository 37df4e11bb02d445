// Idea: cp.async brings the steps straight into a ring of four in shared memory.
// Bound: the fp32 pipes: 64 multiply-adds a thread and step of K for four 16-byte reads.
// Gains over v6: none: 0.93 times v6 at 4096 cubed on an H200, 36.1 TFLOP/s. Three steps are on
// their way in place of one, without registers and stores for them. But X stays as it lies, [M][K],
// two 16-byte reads of it a step fall into the same banks, and loads must be waited for.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/matmul/simt_tile.cuh"

namespace kernels::matmul {
namespace {

namespace ptx = kernels::cuda::ptx;
using simt::kBlock, simt::kStep, simt::kThreads;

constexpr int kStages = 4;

struct Stage {
  /// 12 floats a row: four rows side by side, which a warp reads at once, start in different banks.
  float x[kBlock][kStep + 4];
  float y[kStep][kBlock];
};
static_assert(kStages * sizeof(Stage) <= 48 << 10, "static shared memory");

/// simt::WarpTile with rows of neighbouring threads side by side.
struct Place {
  int warp, lane;
  __device__ int row(int r) const { return warp / 2 * simt::WarpTile::kRows + lane / 8 + r * 4; }
  __device__ int column(int half) const {
    return warp % 2 * simt::WarpTile::kColumns + lane % 8 * 4 + half * 32;
  }
};

/// Bytes of four floats of which `left` are there.
__device__ __forceinline__ int valid_bytes(int left) {
  return left <= 0 ? 0 : left >= 4 ? 16 : 4 * left;
}

__global__ void __launch_bounds__(kThreads, 2) async_kernel(GpuArguments a) {
  __shared__ Stage stages[kStages];
  const int t = threadIdx.x;
  simt::Loads from(a, t);
  const auto copy = [&](int stage) {
    const int x_bytes = valid_bytes(from.x_valid()), y_bytes = valid_bytes(from.y_valid());
    // Where nothing is read the address still must be one of the matrix.
    ptx::copy_async_16(&stages[stage].x[from.xm][from.xk], x_bytes > 0 ? from.x : a.x, x_bytes);
    ptx::copy_async_16(&stages[stage].y[from.yk][from.yn], y_bytes > 0 ? from.y : a.y, y_bytes);
    ptx::copy_async_commit();
    from.advance(a.y_pitch);
  };

  const Place place{t / 32, t % 32};
  float sum[8][8] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) copy(s);
  int stage = 0;
#pragma unroll 1
  for (int k = 0; k < static_cast<int>(a.k); k += kStep) {
    ptx::copy_async_wait<kStages - 2>();
    __syncthreads();  // this stage is there for all, and the one before it is free
    copy((stage + kStages - 1) % kStages);
    const Stage& s = stages[stage];
#pragma unroll 1
    for (int four = 0; four < kStep; four += 4) {
      float4 xs[8];
#pragma unroll
      for (int r = 0; r < 8; ++r)
        xs[r] = *reinterpret_cast<const float4*>(&s.x[place.row(r)][four]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float column_of_x[8], ys[8];
#pragma unroll
        for (int r = 0; r < 8; ++r)
          column_of_x[r] = i == 0 ? xs[r].x : i == 1 ? xs[r].y : i == 2 ? xs[r].z : xs[r].w;
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<float4*>(ys + 4 * half) =
              *reinterpret_cast<const float4*>(&s.y[four + i][place.column(half)]);
        simt::multiply_add(sum, column_of_x, ys);
      }
    }
    stage = (stage + 1) % kStages;
  }
  simt::store_tile(a, sum, place);
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  async_kernel<<<simt::grid_of(a), kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("async matmul");
}

}  // namespace

extern const GpuKernel sm80_v7_async = {.exec_unit = "cuda-core",
                                        .f32 = launch,
                                        .tiles = {.block_m = kBlock,
                                                  .block_n = kBlock,
                                                  .block_k = kStep,
                                                  .warp_m = simt::WarpTile::kRows,
                                                  .warp_n = simt::WarpTile::kColumns}};

}  // namespace kernels::matmul
