// What the split-K rungs share: K in parts over blocks, the ring that the weights stream through,
// and how the last block of those that share columns adds their parts up.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/mma_tile.hpp"

namespace kernels::matmul {

namespace ptx = kernels::cuda::ptx;

constexpr int kColumns = 128;   ///< of Z, a block's
constexpr int kStepBytes = 64;  ///< of K, of a column of Y
constexpr int kThreads = 128;   ///< each warp has 32 columns and all rows
constexpr int kWarpN = 32;
constexpr int kBlocksPerSm = 2;
constexpr int kMaxRows = 64;
constexpr int kLeastSteps = 4;  ///< of a part of K: below, starting the ring takes longer

// A Type says how Y comes (kTransposed: [N,K]), how many bytes an element has, how a warp
// multiplies a stage, and which columns of Z a thread has: in d[i][j][r], row 16 i + lane / 4 + 8
// (r / 2) and column column(warp, lane, j) + r % 2.

/// 64 bytes of K of Y's columns, and the same stretch of X's rows.
template <class Type, int kRows>
struct SplitStage {
  static constexpr int kParts = Type::kXBytes / Type::kYBytes;  ///< of 64 bytes of a row of X
  /// [N][64 B of K], or, where Y comes as [K,N], [64 B of K, in elements][N]
  alignas(128) unsigned char y[kColumns * kStepBytes];
  alignas(128) unsigned char x[kParts][kRows * kStepBytes];  ///< [M][64 B of K]
};

template <class Type, int kRows>
struct SplitShared {
  static constexpr int kStages = kRows == 16 ? 8 : 5;
  SplitStage<Type, kRows> stages[kStages];
  bool last;  ///< this block is the last of those that share columns
};

/// Parts of Z that blocks leave to the last one, and how many have.
struct Parts {
  cuda::Memory sums, finished;
  int splits;
  double bytes;  ///< of the sums of a call
};

template <class Type, int kRows>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    splitk_kernel(GpuArguments a, typename Type::Accumulator* sums, unsigned* finished) {
  using Accumulator = typename Type::Accumulator;
  constexpr int kX = Type::kXBytes, kY = Type::kYBytes, kStep = kStepBytes / kY;
  constexpr bool kWidens = kX != kY;
  constexpr int kRowChunks = kColumns * kY / 16;  ///< of a row of Y as [K,N]
  constexpr int kParts = SplitStage<Type, kRows>::kParts,
                kStages = SplitShared<Type, kRows>::kStages;
  auto& shared = ptx::dynamic_shared<SplitShared<Type, kRows>>();

  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int split = blockIdx.y, splits = gridDim.y, batch = blockIdx.z;
  const std::int64_t first_column = std::int64_t{blockIdx.x} * kColumns;
  const auto* x = static_cast<const unsigned char*>(a.x) + batch * a.x_stride * kX;
  const auto* y = static_cast<const unsigned char*>(a.y) + batch * a.y_stride * kY;
  const int steps = static_cast<int>((a.k + kStep - 1) / kStep);
  const int first = static_cast<int>(std::int64_t{steps} * split / splits);
  const int end = static_cast<int>(std::int64_t{steps} * (split + 1) / splits);

  const auto copy = [&](int slot, int step) {
    if (step < end) {
      auto& stage = shared.stages[slot];
      const std::int64_t k = std::int64_t{step} * kStep;
#pragma unroll
      for (int i = t; i < kColumns * 4; i += kThreads) {
        if constexpr (Type::kTransposed) {
          const int r = i / 4, c = i % 4;
          const std::int64_t at = k + c * 16 / kY, row = first_column + r;
          const int valid = row < a.n ? valid_bytes<kY>(at, a.k) : 0;
          ptx::copy_async_16(stage.y + at_64(r, c),
                             y + (valid > 0 ? (row * a.y_pitch + at) * kY : 0), valid);
        } else {
          const int r = i / kRowChunks, c = i % kRowChunks;
          const std::int64_t at = first_column + c * 16 / kY, row = k + r;
          const int valid = row < a.k ? valid_bytes<kY>(at, a.n) : 0;
          ptx::copy_async_16(stage.y + (kY == 2 ? at_256(r, c) : i * 16),
                             y + (valid > 0 ? (row * a.y_pitch + at) * kY : 0), valid);
        }
      }
#pragma unroll
      for (int i = t; i < kParts * kRows * 4; i += kThreads) {
        const int part = i / (kRows * 4), r = i / 4 % kRows, c = i % 4;
        const std::int64_t at = k + (part * kStepBytes + c * 16) / kX;
        const int valid = r < a.m ? valid_bytes<kX>(at, a.k) : 0;
        ptx::copy_async_16(stage.x[part] + at_64(r, c),
                           x + (valid > 0 ? (r * a.x_pitch + at) * kX : 0), valid);
      }
    }
    ptx::copy_async_commit();  // an empty group too, so that the count of groups stays right
  };

  Accumulator d[kRows / 16][kWarpN / 8][4] = {};
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s) copy(s, first + s);
  int slot = 0;
  for (int step = first; step < end; ++step) {
    ptx::copy_async_wait<kStages - 2>();
    __syncthreads();  // this stage is there for all, and the one before it is free
    copy((slot + kStages - 1) % kStages, step + kStages - 1);
    const auto& stage = shared.stages[slot];
    Type::multiply(d, stage, warp, lane);
    slot = (slot + 1) % kStages;
  }

  if (splits > 1) {
    // A part is [register][thread]: writing and reading are both contiguous over a warp.
    constexpr int kPart = kRows * kColumns;
    const std::int64_t tile = std::int64_t{batch} * gridDim.x + blockIdx.x;
    Accumulator* parts = sums + tile * splits * kPart + t;
#pragma unroll
    for (int r = 0; r < kPart / kThreads; ++r)
      parts[split * kPart + r * kThreads] = d[r / 16][r / 4 % 4][r % 4];
    __threadfence();  // the part is visible before it is counted
    __syncthreads();
    if (t == 0)
      shared.last = atomicInc(finished + tile, splits - 1) == static_cast<unsigned>(splits - 1);
    __syncthreads();
    if (!shared.last) return;
    __threadfence();  // and the others' parts are read after they were counted
#pragma unroll
    for (int r = 0; r < kPart / kThreads; ++r) d[r / 16][r / 4 % 4][r % 4] = 0;
    for (int s = 0; s < splits; ++s)  // in the same order always
#pragma unroll
      for (int r = 0; r < kPart / kThreads; ++r)
        d[r / 16][r / 4 % 4][r % 4] += __ldcg(parts + s * kPart + r * kThreads);
  }

  auto* z = static_cast<Accumulator*>(a.z) + batch * a.z_stride;
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i)
#pragma unroll
    for (int j = 0; j < kWarpN / 8; ++j)
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const std::int64_t row = 16 * i + lane / 4 + 8 * (r / 2);
        const std::int64_t column = first_column + Type::column(warp, lane, j) + r % 2;
        if (row >= a.m || column >= a.n) continue;
        Accumulator value = d[i][j][r];
        if constexpr (kWidens) value *= a.scales[batch * a.n + column];
        z[row * a.z_pitch + column] = value;
      }
}

inline std::int64_t columns_of_tiles(const GpuArguments& a) {
  return (a.n + kColumns - 1) / kColumns;
}

/// A block's, of those that it is compiled for.
inline int rows_of(const GpuArguments& a) { return a.m <= 16 ? 16 : a.m <= 32 ? 32 : kMaxRows; }

template <class Type, int kRows>
void launch_rows(const GpuArguments& a, cudaStream_t stream) {
  const auto& parts = *static_cast<const Parts*>(a.state);
  const dim3 blocks(static_cast<unsigned>(columns_of_tiles(a)), static_cast<unsigned>(parts.splits),
                    static_cast<unsigned>(a.batch));
  splitk_kernel<Type, kRows><<<blocks, kThreads, sizeof(SplitShared<Type, kRows>), stream>>>(
      a, cuda::as<typename Type::Accumulator>(parts.sums), cuda::as<unsigned>(parts.finished));
  CUDA_CHECK_LAUNCH("split-K matmul");
}

template <class Type>
void launch_splitk(const GpuArguments& a, cudaStream_t stream) {
  switch (rows_of(a)) {
    case 16:
      return launch_rows<Type, 16>(a, stream);
    case 32:
      return launch_rows<Type, 32>(a, stream);
    default:
      return launch_rows<Type, kMaxRows>(a, stream);
  }
}

template <class Type, int kRows>
void allow_shared_rows() {
  static_assert(kBlocksPerSm * sizeof(SplitShared<Type, kRows>) <= 163 << 10,
                "an A100's shared memory");
  cuda::allow_shared(splitk_kernel<Type, kRows>, sizeof(SplitShared<Type, kRows>));
}
template <class Type>
void allow_shared_of() {
  allow_shared_rows<Type, 16>();
  allow_shared_rows<Type, 32>();
  allow_shared_rows<Type, kMaxRows>();
}

inline std::shared_ptr<void> open_parts(const GpuArguments& a, const GpuTypes& types) {
  const std::int64_t columns = columns_of_tiles(a) * a.batch;
  const std::int64_t step = kStepBytes / cuda::size_of(types.y);
  const std::int64_t most = (a.k + step - 1) / step / kLeastSteps;
  auto parts = std::make_shared<Parts>();
  parts->splits = static_cast<int>(std::max<std::int64_t>(
      1, std::min<std::int64_t>(kBlocksPerSm * cuda::device().sms / columns, most)));
  const std::int64_t bytes = columns * parts->splits * rows_of(a) * kColumns * 4;
  parts->bytes = parts->splits > 1 ? static_cast<double>(bytes) : 0;
  parts->sums = cuda::allocate(bytes);
  parts->finished = cuda::allocate_zeroed(columns * sizeof(unsigned));
  return parts;
}

inline double part_bytes(const void* state) { return static_cast<const Parts*>(state)->bytes; }

/// The rows of a small M are all in one block; a warp makes 32 columns of them.
constexpr GpuTiles kSplitTiles = {.block_m = kMaxRows,
                                  .block_n = kColumns,
                                  .block_k = kStepBytes,
                                  .warp_m = kMaxRows,
                                  .warp_n = kWarpN};

}  // namespace kernels::matmul
