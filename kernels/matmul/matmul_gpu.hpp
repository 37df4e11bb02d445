// matmul on a GPU: the contract of its variants. Z[M,N] = X[M,K] . Y[K,N], row major, as in
// matmul.hpp; with pack:pre Y is stored transposed, [N,K], which is how tensor cores take 8-bit
// types, and Hopper's wgmma tf32 too.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/types.hpp"

namespace kernels::matmul {

/// Device memory, 256-byte aligned. Rows are a multiple of 16 bytes apart; what lies between a
/// row's last element and the next row must not be used. `*_pitch` and `*_stride` (between the
/// matrices of a batch) in elements.
struct GpuArguments {
  const void *x, *y;
  const float* scales;  ///< one for each column of Z (bf16xs8), those of a batch N apart; else null
  void* z;
  std::int64_t m, n, k, batch;
  std::int64_t x_pitch, y_pitch, z_pitch;
  std::int64_t x_stride, y_stride, z_stride;
  bool y_transposed;  ///< stored [N,K]
  /// What open() returned; while it runs what it returned for the first input copy, whose scratch
  /// the others use, or null.
  void* state;
};

/// The tiles that a variant uses, in elements: a block's of Z and its step along K, and what a warp
/// (with wgmma, a warpgroup) makes from one pass over shared memory. 0: not known, as for a
/// library. A template of them returns them from a lambda: nvcc before 12.6 ends with an internal
/// error where a variable template has designated initialisers.
struct GpuTiles {
  int block_m = 0, block_n = 0, block_k = 0, warp_m = 0, warp_n = 0;
  int cluster_m = 1;  ///< blocks, one below the other, that share one read of Y
  int cluster_n = 1;  ///< blocks side by side that share one read of X
};

struct GpuTypes {
  cuda::Type x, y, z;
};

/// Blocks that a grid may have in y.
inline constexpr std::int64_t kMaxGridY = 65535;

/// Enqueues one product (all of its batch). Where a variant begins early, the kernel just before it
/// in the stream must not write Y.
using GpuLaunch = void (*)(const GpuArguments&, cudaStream_t);

struct GpuKernel {
  const char* exec_unit;  ///< "" for a library: its own choice, and unknown
  GpuLaunch f64 = nullptr, f32 = nullptr, tf32 = nullptr, bf16 = nullptr, f16 = nullptr;
  GpuLaunch bf16_out = nullptr, f16_out = nullptr;  ///< Z in 16 bits, like X and Y
  GpuLaunch tf32_pre = nullptr, e4m3 = nullptr, s8 = nullptr, bf16xs8 = nullptr;  ///< Y is [N,K]
  GpuTiles tiles = {};
  GpuTiles e4m3_tiles = {};  ///< where they are others in e4m3
  double max_flops = 0;      ///< largest work that is offered; 0: any
  std::int64_t max_m = 0;    ///< largest M that is offered; 0: any
  int byte_grain = 1;        ///< N and K must be multiples of this in 8-bit types
  /// State that outlives a call, such as a library's chosen algorithm; null: none. Throws
  /// BadInput or Unsupported.
  std::shared_ptr<void> (*open)(const GpuArguments&, const GpuTypes&) = nullptr;
  bool open_each = false;  ///< the state holds addresses: one for every input copy
  /// Begins before the kernel just before it in the stream has ended.
  bool begins_early = false;
  /// Chooses how calls are done, by calls with that state over all input copies; null: no choice.
  /// Throws Unsupported.
  void (*tune)(void* state, const std::vector<GpuArguments>& copies) = nullptr;
  /// Bytes of sums that a call's blocks leave to one another, by its state; null: none.
  double (*part_bytes)(const void* state) = nullptr;
  /// The tiles, where they depend on the shape; null: those above.
  GpuTiles (*tiles_of)(const void* state) = nullptr;
  std::string (*label)() = nullptr;  ///< further `key=value;` text; null: none
};

}  // namespace kernels::matmul
