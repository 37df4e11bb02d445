// Idea: splitk for fp32, on the CUDA cores: a thread has 2 to 8 rows of 8 columns side by side, 16
// to 64 products for every 10 to 16 values that it reads from shared memory. Bound: the HBM roof up
// to some 40 rows; with 2 M FLOP for 4 bytes, beyond them the CUDA cores. Gains over v5 (expected,
// not measured yet): that has a block for 128 columns, 32 on 132 SMs at N = 4096, and multiplies
// 128 rows; here two blocks an SM stream Y, 67 MB at K = 4096, in 20 us.
#include "kernels/matmul/splitk.cuh"

namespace kernels::matmul {
namespace {

/// Y as it comes, [K,N].
struct F32 {
  using Accumulator = float;
  static constexpr int kXBytes = 4, kYBytes = 4;
  static constexpr bool kTransposed = false;

  /// A thread's columns lie side by side: two loads bring all of a row of Y.
  static __device__ __forceinline__ int column(int warp, int lane, int j) {
    return warp * kWarpN + 8 * (lane % 4) + 2 * j;
  }
  template <int kRowTiles>
  static __device__ __forceinline__ void multiply(float (&d)[kRowTiles][kWarpN / 8][4],
                                                  const SplitStage<F32, 16 * kRowTiles>& stage,
                                                  int warp, int lane) {
    constexpr int kDepth = 4;  // of K, a chunk of a row of X
#pragma unroll
    for (int c = 0; c < kStepBytes / 16; ++c) {
      float x[2 * kRowTiles][kDepth];
#pragma unroll
      for (int i = 0; i < 2 * kRowTiles; ++i) load_4(x[i], stage.x[0] + at_64(8 * i + lane / 4, c));
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const auto* row = stage.y + ((kDepth * c + k) * kColumns + column(warp, lane, 0)) * 4;
        float y[8];
        load_4(y, row);
        load_4(y + 4, row + 16);
#pragma unroll
        for (int i = 0; i < 2 * kRowTiles; ++i)
#pragma unroll
          for (int n = 0; n < 8; ++n) d[i / 2][n / 2][i % 2 * 2 + n % 2] += x[i][k] * y[n];
      }
    }
  }

 private:
  static __device__ __forceinline__ void load_4(float* to, const unsigned char* from) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  allow_shared_of<F32>();
  return open_parts(a, types);
}

}  // namespace

extern const GpuKernel sm80_splitk_simt = {.exec_unit = "cuda-core",
                                           .f32 = launch_splitk<F32>,
                                           .tiles = kSplitTiles,
                                           .max_m = kMaxRows,
                                           .open = open,
                                           .part_bytes = part_bytes};

}  // namespace kernels::matmul
