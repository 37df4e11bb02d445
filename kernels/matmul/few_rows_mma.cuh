// The weights' way to mma.sync where rows are few: straight into registers. Z^T = Y^T . X^T: the
// weights are the operand with 16 rows, and eight rows of X the other, so that M = 8 wastes
// nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/widen.cuh"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {

namespace ptx = kernels::cuda::ptx;

/// Two 16-bit halves of two words: the low ones, the high ones.
__device__ __forceinline__ std::uint32_t low_halves(std::uint32_t a, std::uint32_t b) {
  return __byte_perm(a, b, 0x5410);
}
__device__ __forceinline__ std::uint32_t high_halves(std::uint32_t a, std::uint32_t b) {
  return __byte_perm(a, b, 0x7632);
}
__device__ __forceinline__ std::uint32_t word(const uint4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// A Type says how wide elements are, how Y comes (kTransposed: [N,K]), and multiplies 16 columns of
// Y by eight rows of X: mma() whole fragments, word() and words() one and two words a lane along K,
// `low` of columns 0 to 7, a column every four lanes, `high` of 8 to 15. Any order of K is right
// that both operands have.

template <int kX, int kY, class Scalar>
struct FewRowsType {
  using Accumulator = Scalar;
  static constexpr int kXBytes = kX, kYBytes = kY;
  static constexpr bool kTransposed = kY == 1;
  /// Bytes of the rest of a row's last 16 may be NaN, which no zero of X takes away.
  static constexpr bool kMasksTail = false;
};
struct FewBf16 : FewRowsType<2, 2, float> {
  static __device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&y)[4],
                                             const std::uint32_t (&x)[2]) {
    ptx::mma_bf16(d, y, x);
  }
};
struct FewS8 : FewRowsType<1, 1, int> {
  static __device__ __forceinline__ void words(int (&d)[4], const std::uint32_t (&y)[4],
                                               const std::uint32_t (&x)[2]) {
    ptx::mma_s8(d, y, x);
  }
};
/// Both become fp16, exactly.
struct FewE4m3 : FewRowsType<1, 1, float> {
  static constexpr bool kMasksTail = true;
  static __device__ __forceinline__ void words(float (&d)[4], const std::uint32_t (&y)[4],
                                               const std::uint32_t (&x)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t a[4] = {cuda::widen_e4m3(y[2 * i]), cuda::widen_e4m3(y[2 * i + 1]),
                                  cuda::widen_e4m3(y[2 * i] >> 16),
                                  cuda::widen_e4m3(y[2 * i + 1] >> 16)};
      const std::uint32_t b[2] = {cuda::widen_e4m3(x[i]), cuda::widen_e4m3(x[i] >> 16)};
      ptx::mma_f16(d, a, b);
    }
  }
};
/// Weights become bf16, exactly.
struct FewBf16xS8 : FewRowsType<2, 1, float> {
  static __device__ __forceinline__ void word(float (&d)[4], std::uint32_t low, std::uint32_t high,
                                              const std::uint32_t (&x)[2]) {
    const std::uint32_t a[4] = {cuda::widen_low(low), cuda::widen_low(high), cuda::widen_high(low),
                                cuda::widen_high(high)};
    ptx::mma_bf16(d, a, x);
  }
};

/// A warp's weights: each lane asks for two to four units at a time. A unit is eight loads. Y as
/// [K,N]: 32 rows of K by 64 columns; a lane has eight columns of eight rows of K, 16 h + 4 q … + 3
/// for halves h, whose pairs become fragments by byte_perm. As [N,K]: 16 columns by 256 bytes of K,
/// a lane has columns g and g + 8, of these 16 bytes in each 64.
template <class Type, int kRows>
class FewRowsWeights {
 public:
  using Accumulator = typename Type::Accumulator;
  static constexpr bool kTransposed = Type::kTransposed;
  static constexpr int kWarpColumns = kTransposed ? 16 : 64;
  static constexpr int kUnit = kTransposed ? 256 / Type::kYBytes : 32;  ///< elements of K
  /// Of X in shared memory, bytes of a row; the padding makes the lanes' reads fall into different
  /// banks.
  static constexpr int kXPad = !kTransposed ? 32 : Type::kXBytes == Type::kYBytes ? 64 : 16;
  static constexpr int kXRowBytes = kRows <= 16 ? 2048 : 1024, kXPitch = kXRowBytes + kXPad;
  /// Blocks on an SM, by registers: two where a thread does with 128.
  static constexpr int kBlocks = kRows <= 8 || (kRows == 16 && kTransposed) ? 2 : 1;
  static constexpr int kSlots = kBlocks == 2 || (kRows == 64 && !kTransposed) ? 2
                                : kRows == 16                                 ? 4
                                                                              : 3;

  __device__ __forceinline__ FewRowsWeights(const GpuArguments& a, std::int64_t first_column,
                                            int first_unit, int lane, int batch)
      : g_(lane / 4), q_(lane % 4) {
    constexpr int kY = Type::kYBytes;
    const auto* y = static_cast<const unsigned char*>(a.y) + batch * a.y_stride * kY;
    pitch_ = static_cast<unsigned>(a.y_pitch * kY);
    const std::int64_t k = std::int64_t{first_unit} * kUnit;
    // Columns that are not there are read from another one's place and not stored.
    if constexpr (kTransposed) {
      left_ = static_cast<int>((a.k - k) * kY) - 16 * q_;
#pragma unroll
      for (int i = 0; i < 2; ++i)
        from_[i] =
            y + std::min(first_column + g_ + 8 * i, a.n - 1) * a.y_pitch * kY + k * kY + 16 * q_;
    } else {
      const std::int64_t column = first_column + 8 * g_;
      left_ = static_cast<int>(a.k - k) - 4 * q_;
      from_[0] = y + (k + 4 * q_) * a.y_pitch * kY + (column < a.n ? column : 0) * kY;
    }
  }

  /// Asks for units `unit`, `unit` + `step` …, one a slot; zeros from `end` on.
  __device__ __forceinline__ void begin(int unit, int step, int end) {
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot, unit += step) {
      constexpr int kLength = kTransposed ? 256 : kUnit;
      const int left = unit < end ? left_ - unit * kLength : 0;
      const std::int64_t at = std::int64_t{unit} * kLength * (kTransposed ? 1 : pitch_);
      // Addresses one after the other: as multiples of the pitch each would have a register.
      const unsigned char* from = from_[0] + at;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if constexpr (kTransposed) {
          const int k = i / 2 * 64;
          y_[slot][i] = ptx::load_streaming_if(from_[i % 2] + at + k, k < left);
        } else {
          y_[slot][i] = ptx::load_streaming_if(from, i / 4 * 16 + i % 4 < left);
          from += i == 3 ? 13 * pitch_ : pitch_;
        }
      }
    }
  }

  /// Multiplies unit `unit`, whose X begins at `x`.
  __device__ __forceinline__ void multiply(Accumulator (&d)[kRows / 8][kWarpColumns / 16][4],
                                           int slot, int unit, const unsigned char* x) {
    const unsigned char* row = x + g_ * kXPitch;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint4* y = y_[slot] + 4 * half;
      if constexpr (!kTransposed) {
        std::uint32_t fragments[4][4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const std::uint32_t w[4] = {word(y[0], j), word(y[1], j), word(y[2], j), word(y[3], j)};
          fragments[j][0] = low_halves(w[0], w[1]);
          fragments[j][1] = high_halves(w[0], w[1]);
          fragments[j][2] = low_halves(w[2], w[3]);
          fragments[j][3] = high_halves(w[2], w[3]);
        }
#pragma unroll
        for (int i = 0; i < kRows / 8; ++i) {
          const uint2 v =
              *reinterpret_cast<const uint2*>(row + i * 8 * kXPitch + 32 * half + 8 * q_);
          const std::uint32_t b[2] = {v.x, v.y};
#pragma unroll
          for (int j = 0; j < 4; ++j) Type::mma(d[i][j], fragments[j], b);
        }
      } else {
        if constexpr (Type::kMasksTail) mask_tail(y, unit, half);
#pragma unroll
        for (int chunk = 0; chunk < 2; ++chunk)
          multiply_chunk(d, y[2 * chunk], y[2 * chunk + 1], row, 2 * half + chunk);
      }
    }
  }

  /// Puts a warp's sums to `to`, where its first column and row 0 are.
  template <int kTiles>
  __device__ __forceinline__ void put(Accumulator* to, int pitch,
                                      const Accumulator (&d)[kRows / 8][kTiles][4]) const {
#pragma unroll
    for (int i = 0; i < kRows / 8; ++i)
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        Accumulator* row = to + (8 * i + 2 * q_ + odd) * pitch;
        if constexpr (kTransposed) {
          row[g_] = d[i][0][odd];
          row[g_ + 8] = d[i][0][2 + odd];
        } else {
#pragma unroll
          for (int j = 0; j < 4; j += 2)
            *reinterpret_cast<float4*>(row + 8 * g_ + 2 * j) =
                make_float4(d[i][j][odd], d[i][j][2 + odd], d[i][j + 1][odd], d[i][j + 1][2 + odd]);
        }
      }
  }

 private:
  __device__ __forceinline__ void multiply_chunk(Accumulator (&d)[kRows / 8][1][4],
                                                 const uint4& low, const uint4& high,
                                                 const unsigned char* row, int chunk) {
    constexpr int kRatio = Type::kXBytes / Type::kYBytes;
#pragma unroll
    for (int i = 0; i < kRows / 8; ++i) {
      const auto* x =
          reinterpret_cast<const uint4*>(row + i * 8 * kXPitch + (64 * chunk + 16 * q_) * kRatio);
#pragma unroll
      for (int w = 0; w < 4; w += 2) {
        if constexpr (kRatio == 1) {
          const std::uint32_t y[4] = {word(low, w), word(high, w), word(low, w + 1),
                                      word(high, w + 1)};
          const std::uint32_t b[2] = {word(x[0], w), word(x[0], w + 1)};
          Type::words(d[i][0], y, b);
        } else {
          const uint4 v = x[w / 2];
          const std::uint32_t first[2] = {v.x, v.y}, second[2] = {v.z, v.w};
          Type::word(d[i][0], word(low, w), word(high, w), first);
          Type::word(d[i][0], word(low, w + 1), word(high, w + 1), second);
        }
      }
    }
  }
  /// Zeros for what lies behind K in the row's last 16 bytes.
  __device__ __forceinline__ void mask_tail(uint4* y, int unit, int half) const {
    if (unit * 256 + 256 <= left_) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int valid = left_ - (unit * 256 + (2 * half + i / 2) * 64);
      std::uint32_t* words[4] = {&y[i].x, &y[i].y, &y[i].z, &y[i].w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int bytes = valid - 4 * w;
        *words[w] &= bytes >= 4 ? ~0u : bytes <= 0 ? 0u : (1u << 8 * bytes) - 1;
      }
    }
  }

  uint4 y_[kSlots][8];
  const unsigned char* from_[kTransposed ? 2 : 1];
  unsigned pitch_;  ///< bytes
  int left_;        ///< from where the lane begins to the end of K: rows, or bytes
  int g_, q_;
};

}  // namespace kernels::matmul
