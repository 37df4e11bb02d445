// What the fp32 rungs with a register tile share: 128 x 128 entries of Z a block, 8 x 8 a thread.
#pragma once

#include <cstdint>

#include "kernels/cuda/ptx.cuh"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul::simt {
namespace {

inline constexpr int kBlock = 128;  ///< of Z, square
inline constexpr int kStep = 8;     ///< of K
inline constexpr int kThreads = 256;
static_assert(kBlock * kStep == 4 * kThreads, "a thread loads one 16-byte vector of each tile");

/// Blocks that cover Z.
inline dim3 grid_of(const GpuArguments& a) {
  return dim3((a.n + kBlock - 1) / kBlock, (a.m + kBlock - 1) / kBlock, a.batch);
}

/// What a thread brings in of each step: four values along K of a row of X, four along N of a row
/// of Y. Offsets are 32-bit and pointers move along K: 64-bit indices would spill.
struct Loads {
  int xm, xk, yk, yn;  ///< in the block's tiles
  const float *x, *y;
  int x_left, y_left, y_columns;

  __device__ Loads(const GpuArguments& a, int t)
      : xm(t / 2), xk(t % 2 * 4), yk(t / 32), yn(t % 32 * 4) {
    const std::int64_t row = std::int64_t{blockIdx.y} * kBlock + xm;
    const std::int64_t first_column = std::int64_t{blockIdx.x} * kBlock;
    const bool has_row = row < a.m;
    x = static_cast<const float*>(a.x) + blockIdx.z * a.x_stride + (has_row ? row * a.x_pitch : 0) +
        xk;
    y = static_cast<const float*>(a.y) + blockIdx.z * a.y_stride + yk * a.y_pitch + first_column +
        yn;
    x_left = has_row ? static_cast<int>(a.k) - xk : 0;
    y_left = static_cast<int>(a.k) - yk;
    y_columns = static_cast<int>(a.n - first_column) - yn;
  }
  /// Of the four, how many belong to the matrix: all where it is more than that, none below 1.
  __device__ int x_valid() const { return x_left; }
  __device__ int y_valid() const { return y_left > 0 ? y_columns : 0; }
  __device__ void advance(std::int64_t y_pitch) {
    x += kStep;
    y += kStep * y_pitch;
    x_left -= kStep;
    y_left -= kStep;
  }
};

/// Four floats of which `valid` are there, the rest zero.
__device__ __forceinline__ float4 load4(const float* p, int valid) {
  if (valid >= 4) return *reinterpret_cast<const float4*>(p);
  return {valid > 0 ? p[0] : 0, valid > 1 ? p[1] : 0, valid > 2 ? p[2] : 0, 0};
}

/// Which entries of the block's tile a thread has: rows row(0) to row(7), and four columns from
/// column(0) and from column(1) on.
struct OverBlock {
  int t;
  __device__ int row(int r) const { return t / 16 * 4 + r % 4 + r / 4 * 64; }
  __device__ int column(int half) const { return t % 16 * 4 + half * 64; }
};

/// A warp's are 32 x 64 entries side by side, its threads 4 x 8.
struct WarpTile {
  static constexpr int kRows = 32, kColumns = 64;
  int warp, lane;
  __device__ explicit WarpTile(int t) : warp(t / 32), lane(t % 32) {}
  __device__ int row(int r) const { return warp / 2 * kRows + lane / 8 * 4 + r % 4 + r / 4 * 16; }
  __device__ int column(int half) const { return warp % 2 * kColumns + lane % 8 * 4 + half * 32; }
};
static_assert(kThreads / 32 * WarpTile::kRows * WarpTile::kColumns == kBlock * kBlock,
              "the warps cover the block");

/// sum += xs . ys, an outer product.
__device__ __forceinline__ void multiply_add(float (&sum)[8][8], const float (&xs)[8],
                                             const float (&ys)[8]) {
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int c = 0; c < 8; ++c) sum[r][c] += xs[r] * ys[c];
}

/// A thread's sums into Z, as far as it goes, by 16-byte stores where four columns are there.
template <class Place>
__device__ __forceinline__ void store_tile(const GpuArguments& a, const float (&sum)[8][8],
                                           const Place& place) {
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kBlock;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kBlock;
  auto* z = static_cast<float*>(a.z) + blockIdx.z * a.z_stride;
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const std::int64_t row = first_row + place.row(r);
    if (row >= a.m) continue;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t column = first_column + place.column(half);
      float* to = z + row * a.z_pitch + column;
      const float* from = sum[r] + 4 * half;
      if (column + 4 <= a.n) {
        cuda::ptx::store_16(to, {from[0], from[1], from[2], from[3]});
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if (column + c < a.n) to[c] = from[c];
      }
    }
  }
}

/// A block's step in shared memory, one used while the next is on its way through registers.
struct Tiles {
  static constexpr int kPad = 4;     ///< floats; the transposed stores of X then hit 4 banks, not 1
  float x[2][kStep][kBlock + kPad];  ///< transposed: a thread reads along M
  float y[2][kStep][kBlock];
};
static_assert((kBlock + Tiles::kPad) % 4 == 0, "16-byte reads of x stay aligned");
static_assert(sizeof(Tiles) <= 48 << 10, "static shared memory");

/// One block of Z by 16-byte accesses, the next step's values on their way in registers.
template <class Place>
__device__ __forceinline__ void product_by_registers(const GpuArguments& a, const Place& place,
                                                     Tiles& tiles) {
  Loads from(a, threadIdx.x);
  float4 next_x, next_y;
  const auto load = [&] {
    next_x = load4(from.x, from.x_valid());
    next_y = load4(from.y, from.y_valid());
    from.advance(a.y_pitch);
  };
  const auto store = [&](int buffer) {
    tiles.x[buffer][from.xk + 0][from.xm] = next_x.x;
    tiles.x[buffer][from.xk + 1][from.xm] = next_x.y;
    tiles.x[buffer][from.xk + 2][from.xm] = next_x.z;
    tiles.x[buffer][from.xk + 3][from.xm] = next_x.w;
    *reinterpret_cast<float4*>(&tiles.y[buffer][from.yk][from.yn]) = next_y;
  };

  float sum[8][8] = {};
  load();
  store(0);
  __syncthreads();
  int buffer = 0;
  const int steps = static_cast<int>((a.k + kStep - 1) / kStep);
  for (int step = 1; step <= steps; ++step) {
    const bool more = step < steps;
    if (more) load();
#pragma unroll 2  // more of it spills at two blocks an SM
    for (int i = 0; i < kStep; ++i) {
      float xs[8], ys[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(xs + 4 * half) =
            *reinterpret_cast<const float4*>(&tiles.x[buffer][i][place.row(4 * half)]);
        *reinterpret_cast<float4*>(ys + 4 * half) =
            *reinterpret_cast<const float4*>(&tiles.y[buffer][i][place.column(half)]);
      }
      multiply_add(sum, xs, ys);
    }
    if (more) store(buffer ^ 1);  // the other buffer was last read before the previous barrier
    __syncthreads();
    buffer ^= 1;
  }
  store_tile(a, sum, place);
}

}  // namespace
}  // namespace kernels::matmul::simt
