// An fp32 product on CUDA cores with all that it needs on its way before it is needed: a thread's
// next values to registers while those at hand are multiplied, the next step to shared memory while
// this one is read. Two stages take turns. Y comes there by cp.async, X through registers: 16-byte
// loads, transposed by 4-byte stores.
#pragma once

#include <cstdint>

#include "kernels/cuda/ptx.cuh"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul::simt_ahead {
namespace {

namespace ptx = cuda::ptx;

inline constexpr int kBlock = 128;                      ///< of Z, square
inline constexpr int kStep = 16;                        ///< of K
inline constexpr int kWarpM = 32, kWarpN = 64;          ///< of Z, a warp's
inline constexpr int kRows = 8, kColumns = 8;           ///< of Z, a thread's
inline constexpr int kLaneColumns = kWarpN / kColumns;  ///< a warp's threads are 4 x 8
inline constexpr int kWarpsAcross = kBlock / kWarpN;
inline constexpr int kThreads = kBlock / kWarpM * kWarpsAcross * 32;

/// A stage is X transposed, then Y. 4 floats between rows of X: the 4-byte stores of a warp, of
/// four k of eight rows, then meet two by two in a bank, not four by four.
inline constexpr int kXPitch = kBlock + 4, kYPitch = kBlock;
inline constexpr int kStageX = kStep * kXPitch, kStage = kStageX + kStep * kYPitch;
struct Shared {
  float stages[2][kStage];
};

/// Blocks that cover Z.
inline dim3 grid_of(const GpuArguments& a) {
  return dim3((a.n + kBlock - 1) / kBlock, (a.m + kBlock - 1) / kBlock, a.batch);
}

/// What a thread brings: of X four k of some rows, rows beyond the last being copies of the last;
/// of Y 16 bytes at some k, columns beyond N being those from column 0 on, and at N what fills up
/// 16 bytes. What these make are sums that are never stored.
class Loads {
 public:
  __device__ Loads(const GpuArguments& a, std::int64_t first_row, std::int64_t first_column) {
    const int t = threadIdx.x;
    xk = t % kAcrossX * 4;
    xm = t / kAcrossX;
    yk = t / kAcrossY;
    yn = t % kAcrossY * 4;
    const auto* x = static_cast<const float*>(a.x) + blockIdx.z * a.x_stride + xk;
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {
      const std::int64_t row = first_row + xm + i * kXRows;
      x_[i] = x + (row < a.m ? row : a.m - 1) * a.x_pitch;
    }
    const std::int64_t column = first_column + yn;
    y_ = static_cast<const float*>(a.y) + blockIdx.z * a.y_stride + yk * a.y_pitch +
         (column < a.n ? column : 0);
  }

  /// Starts on X of the next step, of which `left` k are there. What is beyond is not read, but for
  /// what fills up 16 bytes.
  __device__ __forceinline__ void load_x(int left) {
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {
      if (left > xk) next_x_[i] = *reinterpret_cast<const float4*>(x_[i]);
      x_[i] += kStep;
    }
  }

  /// Starts on Y of the next step; zero where it is beyond `left`.
  __device__ __forceinline__ void copy_y(const GpuArguments& a, float* y_to, int left) {
#pragma unroll
    for (int i = 0; i < kYCopies; ++i) {
      ptx::copy_async_16(y_to + i * kYRows * kYPitch, y_, i * kYRows < left - yk ? 16 : 0);
      y_ += kYRows * a.y_pitch;
    }
    ptx::copy_async_commit();
  }

  /// Where its values of X and of Y go in the first stage.
  __device__ float* x_to(float* stage) const { return stage + xk * kXPitch + xm; }
  __device__ float* y_to(float* stage) const { return stage + kStageX + yk * kYPitch + yn; }

  /// What load_x brought; zero where it is beyond `left`.
  __device__ __forceinline__ void store_x(float* x_to, int left) {
    if (left < kStep) {
#pragma unroll
      for (int i = 0; i < kXLoads; ++i)
        next_x_[i] = {left > xk ? next_x_[i].x : 0, left > xk + 1 ? next_x_[i].y : 0,
                      left > xk + 2 ? next_x_[i].z : 0, left > xk + 3 ? next_x_[i].w : 0};
    }
#pragma unroll
    for (int i = 0; i < kXLoads; ++i) {
      float* to = x_to + i * kXRows;
      to[0 * kXPitch] = next_x_[i].x;
      to[1 * kXPitch] = next_x_[i].y;
      to[2 * kXPitch] = next_x_[i].z;
      to[3 * kXPitch] = next_x_[i].w;
    }
  }

 private:
  static constexpr int kAcrossX = kStep / 4, kAcrossY = kBlock / 4;
  static constexpr int kXRows = kThreads / kAcrossX, kYRows = kThreads / kAcrossY;
  static constexpr int kXLoads = kBlock / kXRows, kYCopies = kStep / kYRows;
  static_assert(kXLoads * kXRows == kBlock && kYCopies * kYRows == kStep, "whole copies");
  int xk, xm, yk, yn;  ///< its first value's place in a step
  const float* x_[kXLoads];
  const float* y_;
  float4 next_x_[kXLoads] = {};
};

/// Which entries of the block's tile a thread has: runs of four rows and of four columns. Lanes
/// take turns in rows and columns: of lanes l and l ^ 1 both read the same Y, of l and l ^ 2 the
/// same X, which lets a 16-byte read serve half a warp at a time in place of a quarter.
struct Place {
  int first_row, first_column;
  __device__ Place() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    first_row = warp / kWarpsAcross * kWarpM + 4 * (lane % 2 + lane / (2 * kLaneColumns) * 2);
    first_column = warp % kWarpsAcross * kWarpN + 4 * (lane / 2 % kLaneColumns);
  }
  static constexpr int kRowsApart = 4 * 32 / kLaneColumns, kColumnsApart = 4 * kLaneColumns;
  __device__ int row(int r) const { return first_row + r % 4 + r / 4 * kRowsApart; }
  __device__ int column(int c) const { return first_column + c / 4 * kColumnsApart; }
};

/// A thread's values at one k.
struct Values {
  float x[kRows], y[kColumns];

  /// By where those at k = 0 start.
  __device__ __forceinline__ void load(const float* from_x, const float* from_y, int k) {
#pragma unroll
    for (int r = 0; r < kRows; r += 4)
      load_4(x + r, from_x + k * kXPitch + r / 4 * Place::kRowsApart);
#pragma unroll
    for (int c = 0; c < kColumns; c += 4)
      load_4(y + c, from_y + k * kYPitch + c / 4 * Place::kColumnsApart);
  }

  /// sum += x . y, an outer product. The order decides how often the two banks of registers (even
  /// and odd) are read: once a cycle each, where a multiply-add has three operands. A sum comes
  /// from its bank each time, so of the other two at least one must still be there from before:
  /// with two rows of sums at a time their X, in two banks, stays, and each Y serves twice.
  __device__ __forceinline__ void multiply_add(float (&sum)[kRows][kColumns]) const {
#pragma unroll
    for (int first = 0; first < kRows; first += 2)
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int c = first / 2 % 2 == 0 ? i : kColumns - 1 - i;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int r = first + (i % 2 == 0 ? j : 1 - j);
          sum[r][c] += x[r] * y[c];
        }
      }
  }

 private:
  static __device__ __forceinline__ void load_4(float* to, const float* from) {
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
  }
};

/// A thread's sums into Z, as far as it goes, by 16-byte stores where four columns are there.
__device__ __forceinline__ void store_sums(const GpuArguments& a,
                                           const float (&sum)[kRows][kColumns], const Place& place,
                                           std::int64_t first_row, std::int64_t first_column) {
  auto* z = static_cast<float*>(a.z) + blockIdx.z * a.z_stride;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first_row + place.row(r);
    if (row >= a.m) continue;
#pragma unroll
    for (int c = 0; c < kColumns; c += 4) {
      const std::int64_t column = first_column + place.column(c);
      float* to = z + row * a.z_pitch + column;
      const float* from = sum[r] + c;
      if (column + 4 <= a.n) {
        ptx::store_16(to, {from[0], from[1], from[2], from[3]});
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (column + i < a.n) to[i] = from[i];
      }
    }
  }
}

/// One block of Z.
__device__ __forceinline__ void product(const GpuArguments& a, Shared& shared) {
  const std::int64_t first_row = std::int64_t{blockIdx.y} * kBlock;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kBlock;
  const Place place;
  Loads loads(a, first_row, first_column);
  float* x_to = loads.x_to(shared.stages[0]);
  float* y_to = loads.y_to(shared.stages[0]);
  const float* x_from = shared.stages[0] + place.first_row;
  const float* y_from = shared.stages[0] + kStageX + place.first_column;
  int other = kStage;  // floats from the stage that is read to the one that is filled

  float sum[kRows][kColumns] = {};
  Values values[2];
  int left = static_cast<int>(a.k);
  loads.load_x(left);
  loads.copy_y(a, y_to, left);
  loads.store_x(x_to, left);
  loads.load_x(left - kStep);
  ptx::copy_async_wait<0>();
  __syncthreads();
  values[0].load(x_from, y_from, 0);
#pragma unroll 1
  for (; left > 0; left -= kStep) {
    const int next_left = left - kStep;
    x_to += other;
    y_to += other;
    loads.copy_y(a, y_to, next_left);
#pragma unroll
    for (int i = 0; i < kStep; ++i) {
      if (i == kStep - 3) {  // a whole step after that load began
        loads.store_x(x_to, next_left);
        loads.load_x(next_left - kStep);
      }
      if (i == kStep - 1) {  // nothing is left to read in this stage
        ptx::copy_async_wait<0>();
        __syncthreads();  // the next is there for all, and this one can be filled again
        x_from += other;
        y_from += other;
        other = -other;
      }
      values[(i + 1) % 2].load(x_from, y_from, (i + 1) % kStep);
      values[i % 2].multiply_add(sum);
    }
  }
  store_sums(a, sum, place, first_row, first_column);
}

}  // namespace
}  // namespace kernels::matmul::simt_ahead
