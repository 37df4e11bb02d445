// Idea: few rows: the weights stream once through a ring in shared memory; K is split over as many
// blocks as fill the chip, and the last of those that share columns adds their parts up.
// Bound: the HBM roof, by the weights' bytes; launch time where they are few.
// Gains over v8: every SM has at least 32 KB of weights on their way, also where N has fewer tiles
// than the chip SMs; no work on rows that are not there. bf16, cold, N = K = 8192 on an H200: 51 us
// at M = 1 and 8, where cuBLASLt takes 35, 59 at 32 and 79 at 64; at 4096 and M = 8 17.6, cuBLASLt
// 13.3; s8 at 8192 and M = 8 32.8, cuBLASLt 23.2.
#include "kernels/cuda/widen.cuh"
#include "kernels/matmul/splitk.cuh"

namespace kernels::matmul {
namespace {

/// The A fragment of 16 bf16 of K as lane (g, q) needs it beside widened bytes: those of a row of Y
/// are 4q … 4q + 3, where the instruction has 2q, 2q + 1, 2q + 8, 2q + 9. Any order of K will do if
/// X is in the same one.
__device__ __forceinline__ void load_x_by_fours(std::uint32_t (&r)[4], const unsigned char* part,
                                                int lane, int first_row, int group) {
  const int q = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + lane / 4 + 8 * half;
    const auto* from = part + at_64(row, 2 * group + q / 2) + q % 2 * 8;
    const uint2 v = *reinterpret_cast<const uint2*>(from);
    r[half] = v.x;
    r[half + 2] = v.y;
  }
}

/// How a warp multiplies on tensor cores. D's columns are where the instruction has them.
template <class Type, int kX, int kY>
struct ByMma {
  static constexpr int kXBytes = kX, kYBytes = kY;
  static constexpr bool kTransposed = kY != 2;
  static __device__ __forceinline__ int column(int warp, int lane, int j) {
    return warp * kWarpN + 8 * j + 2 * (lane % 4);
  }
  template <class Scalar, int kRowTiles>
  static __device__ __forceinline__ void multiply(Scalar (&d)[kRowTiles][kWarpN / 8][4],
                                                  const SplitStage<Type, 16 * kRowTiles>& stage,
                                                  int warp, int lane) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 32 bytes of K of a row of Y
      std::uint32_t yf[kWarpN / 16][4];
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j) {
        const int column = warp * kWarpN + 16 * j;
        if constexpr (kTransposed)
          ptx::load_matrix_x4(yf[j], stage.y + y_fragment_row_nk(lane, column, half));
        else
          ptx::load_matrix_x4_transposed(yf[j], stage.y + y_fragment_row_kn(lane, column, half));
      }
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        if constexpr (kX != kY) {
#pragma unroll
          for (int chunk = 0; chunk < 2; ++chunk) {  // 16 of K
            std::uint32_t xf[4];
            load_x_by_fours(xf, stage.x[half], lane, 16 * i, chunk);
#pragma unroll
            for (int j = 0; j < kWarpN / 8; ++j) {
              const std::uint32_t bytes = yf[j / 2][j % 2 * 2 + chunk];
              const std::uint32_t b[2] = {cuda::widen_low(bytes), cuda::widen_high(bytes)};
              Type::mma(d[i][j], xf, b);
            }
          }
        } else {
          std::uint32_t xf[4];
          ptx::load_matrix_x4(xf, stage.x[0] + x_fragment_row(lane, 16 * i, half));
#pragma unroll
          for (int j = 0; j < kWarpN / 8; ++j) {
            const std::uint32_t b[2] = {yf[j / 2][j % 2 * 2], yf[j / 2][j % 2 * 2 + 1]};
            Type::mma(d[i][j], xf, b);
          }
        }
      }
    }
  }
};

struct Bf16 : ByMma<Bf16, 2, 2> {
  using Accumulator = float;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_bf16(d, a, b);
  }
};
struct F16 : ByMma<F16, 2, 2> {
  using Accumulator = float;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_f16(d, a, b);
  }
};
struct S8 : ByMma<S8, 1, 1> {
  using Accumulator = int;
  static __device__ __forceinline__ void mma(int (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_s8(d, a, b);
  }
};
struct Tf32 : ByMma<Tf32, 4, 4> {
  using Accumulator = float;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_tf32(d, a, b);
  }
};
/// Both operands become fp16 in registers, exactly, and their sums are whole fp32, for which
/// mma.sync in fp8 would be no faster where the weights' bytes bind. Bytes 0, 1 and 2, 3 of a word
/// take the places of 2q, 2q + 1 and 2q + 8, 2q + 9 in both operands.
struct E4m3 : ByMma<E4m3, 1, 1> {
  using Accumulator = float;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {  // 16 of K
      const std::uint32_t x[4] = {cuda::widen_e4m3(a[2 * i]), cuda::widen_e4m3(a[2 * i + 1]),
                                  cuda::widen_e4m3(a[2 * i] >> 16),
                                  cuda::widen_e4m3(a[2 * i + 1] >> 16)};
      const std::uint32_t y[2] = {cuda::widen_e4m3(b[i]), cuda::widen_e4m3(b[i] >> 16)};
      ptx::mma_f16(d, x, y);
    }
  }
};
/// Weights become bf16 in registers, exactly.
struct Bf16xS8 : ByMma<Bf16xS8, 2, 1> {
  using Accumulator = float;
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    ptx::mma_bf16(d, a, b);
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  allow_shared_of<Bf16>();
  allow_shared_of<F16>();
  allow_shared_of<S8>();
  allow_shared_of<Tf32>();
  allow_shared_of<E4m3>();
  allow_shared_of<Bf16xS8>();
  return open_parts(a, types);
}

}  // namespace

extern const GpuKernel sm80_splitk = {.exec_unit = "mma",
                                      .bf16 = launch_splitk<Bf16>,
                                      .f16 = launch_splitk<F16>,
                                      .tf32_pre = launch_splitk<Tf32>,
                                      .e4m3 = launch_splitk<E4m3>,
                                      .s8 = launch_splitk<S8>,
                                      .bf16xs8 = launch_splitk<Bf16xS8>,
                                      .tiles = kSplitTiles,
                                      .max_m = kMaxRows,
                                      .open = open,
                                      .part_bytes = part_bytes};

}  // namespace kernels::matmul
