// Idea: mma.sync on 64 x 32 tiles a warp, ldmatrix from swizzled shared memory, a ring of three
// stages filled by cp.async.
// Bound: the mma.sync roof (all of an A100's tensor cores, some 63 % of Hopper's wgmma).
// Gains over v6 in fp32: the tensor cores: 7.4 times as fast on an H200 at 4096 cubed, 286 TFLOP/s,
// 0.44 of what mma.sync gives there.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/mma_tile.hpp"
#include "kernels/matmul/mma_warp.cuh"

namespace kernels::matmul {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kBlock = 128;     ///< of Z, square
constexpr int kStepBytes = 64;  ///< of K: two instructions deep in every type
constexpr int kStages = 3;
constexpr int kThreads = 256;
constexpr int kWarpM = 64, kWarpN = 32;  ///< 2 x 4 warps
constexpr int kTileBytes = kBlock * kStepBytes;
static_assert(kThreads / 32 * kWarpM * kWarpN == kBlock * kBlock, "the warps cover the block");
static_assert(2 * kThreads * 16 == kTileBytes, "a thread copies two 16-byte chunks of each tile");

struct Stage {
  alignas(128) unsigned char x[kTileBytes];  ///< [M][64 B of K]
  alignas(128) unsigned char y[kTileBytes];  ///< [N][64 B of K], or 16-bit [32 of K][256 B of N]
};
static_assert(kStages * sizeof(Stage) <= 48 << 10, "static shared memory");

template <class Type>
__global__ void __launch_bounds__(kThreads, 2) mma_kernel(GpuArguments a) {
  constexpr int kBytes = Type::kBytes, kChunk = 16 / kBytes, kStep = kStepBytes / kBytes;
  constexpr bool kTransposed = kBytes == 1;  // Y stored [N][K]
  using Accumulator = typename Type::Accumulator;
  __shared__ Stage stages[kStages];

  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kBlock;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kBlock;
  const auto* x = static_cast<const unsigned char*>(a.x) + blockIdx.z * a.x_stride * kBytes;
  const auto* y = static_cast<const unsigned char*>(a.y) + blockIdx.z * a.y_stride * kBytes;

  // Rows of `along_k` layout: 4 chunks; a chunk outside the matrix is zeros and reads nothing.
  const auto copy_along_k = [&](unsigned char* tile, const unsigned char* from, std::int64_t first,
                                std::int64_t rows, std::int64_t pitch, std::int64_t k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int r = (t + i * kThreads) / 4, c = t % 4;
      const std::int64_t column = k + c * kChunk;
      const int valid = first + r < rows ? valid_bytes<kBytes>(column, a.k) : 0;
      const std::int64_t offset = valid > 0 ? ((first + r) * pitch + column) * kBytes : 0;
      ptx::copy_async_16(tile + at_64(r, c), from + offset, valid);
    }
  };
  const auto copy_along_n = [&](unsigned char* tile, std::int64_t k) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int r = (t + i * kThreads) / 16, c = t % 16;
      const std::int64_t column = first_column + c * kChunk;
      const int valid = k + r < a.k ? valid_bytes<kBytes>(column, a.n) : 0;
      const std::int64_t offset = valid > 0 ? ((k + r) * a.y_pitch + column) * kBytes : 0;
      ptx::copy_async_16(tile + at_256(r, c), y + offset, valid);
    }
  };
  const auto copy = [&](int stage, std::int64_t k) {
    if (k < a.k) {
      copy_along_k(stages[stage].x, x, first_row, a.m, a.x_pitch, k);
      if constexpr (kTransposed)
        copy_along_k(stages[stage].y, y, first_column, a.n, a.y_pitch, k);
      else
        copy_along_n(stages[stage].y, k);
    }
    ptx::copy_async_commit();  // an empty group too, so that the count of groups stays right
  };

  const int warp_row = warp / 4 * kWarpM, warp_column = warp % 4 * kWarpN;
  Accumulator d[kWarpM / 16][kWarpN / 8][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) copy(s, s * kStep);

  int stage = 0;
  for (std::int64_t k = 0; k < a.k; k += kStep) {
    ptx::copy_async_wait<kStages - 2>();
    __syncthreads();  // this stage is there for all, and the one before it is free
    copy((stage + kStages - 1) % kStages, k + (kStages - 1) * kStep);
    const Stage& s = stages[stage];
#pragma unroll
    for (int half = 0; half < 2; ++half) {  // 32 bytes of K: one instruction
      std::uint32_t xf[kWarpM / 16][4], yf[kWarpN / 16][4];
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
        ptx::load_matrix_x4(xf[i], s.x + x_fragment_row(lane, warp_row + 16 * i, half));
#pragma unroll
      for (int j = 0; j < kWarpN / 16; ++j) {
        const int column = warp_column + 16 * j;
        if constexpr (kTransposed)
          ptx::load_matrix_x4(yf[j], s.y + y_fragment_row_nk(lane, column, half));
        else
          ptx::load_matrix_x4_transposed(yf[j], s.y + y_fragment_row_kn(lane, column, half));
      }
#pragma unroll
      for (int i = 0; i < kWarpM / 16; ++i)
#pragma unroll
        for (int j = 0; j < kWarpN / 8; ++j) {
          const std::uint32_t b[2] = {yf[j / 2][j % 2 * 2], yf[j / 2][j % 2 * 2 + 1]};
          Type::mma(d[i][j], xf[i], b);
        }
    }
    stage = (stage + 1) % kStages;
  }

  mma::store_sums<Accumulator>(a, d, first_row + warp_row, first_column + warp_column, blockIdx.z);
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const dim3 blocks((a.n + kBlock - 1) / kBlock, (a.m + kBlock - 1) / kBlock, a.batch);
  mma_kernel<Type><<<blocks, kThreads, 0, stream>>>(a);
  CUDA_CHECK_LAUNCH("mma matmul");
}

}  // namespace

extern const GpuKernel sm80_v8_mma = {.exec_unit = "mma",
                                      .bf16 = launch<mma::Bf16>,
                                      .f16 = launch<mma::F16>,
                                      .s8 = launch<mma::S8>,
                                      .tiles = {.block_m = kBlock,
                                                .block_n = kBlock,
                                                .block_k = kStepBytes,
                                                .warp_m = kWarpM,
                                                .warp_n = kWarpN}};

}  // namespace kernels::matmul
