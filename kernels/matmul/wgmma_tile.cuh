// What the Hopper rungs share: one step's operands in shared memory, how they are loaded and
// multiplied, and the plain way to write a tile.
#pragma once

#include <algorithm>
#include <memory>
#include <type_traits>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/ring.cuh"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/tile_raster.hpp"

namespace kernels::matmul {

namespace ptx = kernels::cuda::ptx;
using cuda::allow_shared;
using cuda::init_ring;
using cuda::RingPosition;
using cuda::wait_for_releases;

constexpr int kTileM = 128;      ///< of Z: 64 rows for each of two warpgroups
constexpr int kSpan = 128;       ///< bytes of a row in shared memory: one period of the swizzle
constexpr int kPanel = 64;       ///< columns of Y that one copy brings
constexpr int kWarpgroup = 128;  ///< threads
constexpr int kPanelBytes = kPanel * kSpan;

/// 128 bytes of K of a tile: as it comes from TMA and as wgmma takes it.
template <int kTileN>
struct Stage {
  alignas(1024) unsigned char x[kTileM * kSpan];  ///< [M][128 B of K]
  /// A panel is [64 of N][128 B of K], or in 16 bits [64 of K][128 B of N].
  alignas(1024) unsigned char y[kTileN / kPanel][kPanelBytes];
};
template <int kTileN>
constexpr unsigned kStageBytes = sizeof(Stage<kTileN>);

/// One element type: its instruction and how Y is stored. Not all have their Y as it comes, [K,N]:
/// wgmma takes N contiguous in 16 bits only.
#define WGMMA_TYPE(Name, Scalar, bytes, transposed, instruction)                              \
  struct Name {                                                                               \
    using Accumulator = Scalar;                                                               \
    static constexpr int kBytes = bytes;                                                      \
    static constexpr bool kTransposed = transposed;                                           \
    template <int kRegisters>                                                                 \
    static __device__ __forceinline__ void multiply(Scalar (&d)[kRegisters], std::uint64_t a, \
                                                    std::uint64_t b, int accumulate) {        \
      ptx::instruction(d, a, b, accumulate);                                                  \
    }                                                                                         \
  };
WGMMA_TYPE(Bf16, float, 2, false, wgmma_bf16_b_mn_major)
WGMMA_TYPE(F16, float, 2, false, wgmma_f16_b_mn_major)
WGMMA_TYPE(Tf32, float, 4, true, wgmma_tf32)
WGMMA_TYPE(E4m3, float, 1, true, wgmma_e4m3)
WGMMA_TYPE(S8, int, 1, true, wgmma_s8)
// With Y as the first operand.
WGMMA_TYPE(Bf16Y, float, 2, false, wgmma_bf16_a_mn_major)
WGMMA_TYPE(F16Y, float, 2, false, wgmma_f16_a_mn_major)
#undef WGMMA_TYPE

template <class Type>
constexpr int kStep = kSpan / Type::kBytes;  ///< of K, elements

/// fp8 products are added up outside the tensor core once a step: it keeps sums to some 14 bits.
template <class Type>
constexpr bool kPromoted = std::is_same_v<Type, E4m3>;

/// Columns of a tile that multiply_steps() makes from one pass over X. Promoted products of 256
/// would be two registers an entry, more than a thread has.
template <class Type, int kTileN>
constexpr int kColumnsAtOnce = kPromoted<Type> ? std::min(kTileN, 128) : kTileN;

/// Brings in X's rows from `row` on, k elements along K.
template <int kTileN>
__device__ __forceinline__ void load_x(Stage<kTileN>& s, const CUtensorMap& map, int row, int k,
                                       int batch, ptx::Mbarrier& full) {
  ptx::load_box(s.x, map, k, row, batch, full);
}
/// Brings in all columns of Y from `column` on.
template <class Type, int kTileN>
__device__ __forceinline__ void load_y(Stage<kTileN>& s, const CUtensorMap& map, int column, int k,
                                       int batch, ptx::Mbarrier& full) {
#pragma unroll
  for (int p = 0; p < kTileN / kPanel; ++p) {
    const int c = column + p * kPanel;
    if constexpr (Type::kTransposed)
      ptx::load_box(s.y[p], map, k, c, batch, full);
    else
      ptx::load_box(s.y[p], map, c, k, batch, full);
  }
}

/// Brings one half of Y's columns, the lower by `rank` 0, into both of two blocks of a cluster.
template <class Type, int kTileN>
__device__ __forceinline__ void load_y_half(Stage<kTileN>& s, const CUtensorMap& map, int rank,
                                            int column, int k, int batch, ptx::Mbarrier& full,
                                            std::uint16_t both = 0b11) {
  constexpr int kHalf = kTileN / kPanel / 2;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const int p = rank * kHalf + i, c = column + p * kPanel;
    if constexpr (Type::kTransposed)
      ptx::load_box_multicast(s.y[p], map, k, c, batch, full, both);
    else
      ptx::load_box_multicast(s.y[p], map, c, k, batch, full, both);
  }
}

/// Enqueues the stage's products for warpgroup `group`'s 64 rows, as one group of wgmma: of as many
/// columns as `d` has room for, from panel `first` of Y on.
template <class Type, class Scalar, int kRegisters, int kTileN>
__device__ __forceinline__ void multiply(Scalar (&d)[kRegisters], const Stage<kTileN>& s, int group,
                                         bool accumulate, int first = 0) {
  constexpr int kInstructions = 4;  // 32 bytes of K each
  const std::uint64_t x =
      ptx::descriptor_k_major_128(ptx::shared_address(s.x + group * 64 * kSpan));
  const std::uint32_t shared_y = ptx::shared_address(s.y[first]);
  const std::uint64_t y = Type::kTransposed ? ptx::descriptor_k_major_128(shared_y)
                                            : ptx::descriptor_mn_major_128(shared_y, kPanelBytes);
  constexpr int kNextY = Type::kTransposed ? 2 : 128;  // 32 bytes; 16 rows of 128 bytes
  ptx::pin(d);
  ptx::wgmma_fence();
#pragma unroll
  for (int i = 0; i < kInstructions; ++i)
    Type::multiply(d, x + 2 * i, y + kNextY * i, accumulate || i > 0);
  ptx::wgmma_commit();
}

/// A warpgroup's products of a tile's next `steps` stages. `release(stage)` follows the last read
/// of each.
template <class Type, class Shared, int kRegisters, int kStages, class Release>
__device__ __forceinline__ void multiply_steps(typename Type::Accumulator (&d)[kRegisters],
                                               Shared& shared, RingPosition<kStages>& at, int steps,
                                               int group, const Release& release) {
  if constexpr (kPromoted<Type>) {
    constexpr int kAtOnce = kColumnsAtOnce<Type, 2 * kRegisters> / 2, kTimes = kRegisters / kAtOnce;
    typename Type::Accumulator products[kAtOnce];
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) d[r] = 0;
    for (int i = 0; i < steps; ++i, at.advance()) {
      ptx::mbarrier_wait(shared.full[at.stage], at.parity);
#pragma unroll
      for (int part = 0; part < kTimes; ++part) {
        multiply<Type>(products, shared.stages[at.stage], group, false,
                       part * 2 * kAtOnce / kPanel);
        ptx::wgmma_wait<0>();
        ptx::pin(products);
        if (part == kTimes - 1) release(at.stage);
#pragma unroll
        for (int r = 0; r < kAtOnce; ++r) d[part * kAtOnce + r] += products[r];
        ptx::pin(d);  // added before the next products need the registers
      }
    }
  } else {
    int before = 0;
    for (int i = 0; i < steps; ++i, at.advance()) {
      ptx::mbarrier_wait(shared.full[at.stage], at.parity);
      multiply<Type>(d, shared.stages[at.stage], group, i > 0);
      ptx::wgmma_wait<1>();
      if (i > 0) release(before);
      before = at.stage;
    }
    ptx::wgmma_wait<0>();
    ptx::pin(d);
    release(before);
  }
}

/// Writes a warpgroup's 64 rows from its registers: 32 contiguous bytes from every four lanes.
template <class Scalar, int kRegisters>
__device__ __forceinline__ void store(const Scalar (&d)[kRegisters], const GpuArguments& a,
                                      std::int64_t first_row, std::int64_t first_column,
                                      int batch) {
  struct alignas(8) Pair {
    Scalar first, second;
  };
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  auto* z = static_cast<Scalar*>(a.z) + batch * a.z_stride;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first_row + 16 * (t / 32) + lane / 4 + 8 * half;
    if (row >= a.m) continue;
#pragma unroll
    for (int j = 0; j < kRegisters / 4; ++j) {
      const std::int64_t column = first_column + 8 * j + 2 * (lane % 4);
      Scalar* to = z + row * a.z_pitch + column;
      const Pair pair{d[4 * j + 2 * half], d[4 * j + 2 * half + 1]};
      if (column + 1 < a.n)
        *reinterpret_cast<Pair*>(to) = pair;
      else if (column < a.n)
        *to = pair.first;
    }
  }
}

/// What a rung keeps for one input copy: its tensor maps, made before anything is timed.
struct Maps {
  CUtensorMap x, y;
};

/// Boxes have so many rows of each: of Y 64 of N, or 128 bytes' worth of rows of K, are a panel.
template <class Type>
Maps make_maps(const GpuArguments& a, cuda::Type type, int x_rows = kTileM, int y_rows = kPanel) {
  const cuda::Tensor x{type, a.x, a.k, a.m, a.batch, a.x_pitch, a.x_stride};
  const cuda::Tensor y = Type::kTransposed
                             ? cuda::Tensor{type, a.y, a.k, a.n, a.batch, a.y_pitch, a.y_stride}
                             : cuda::Tensor{type, a.y, a.n, a.k, a.batch, a.y_pitch, a.y_stride};
  return {cuda::tensor_map(x, x_rows), cuda::tensor_map(y, y_rows)};
}

/// The settings of a launch of `clusters` clusters of `cluster` blocks along x. Holds what `config`
/// points to: not to be copied.
struct ClusterLaunch {
  ClusterLaunch(int clusters, int cluster, int threads, std::size_t shared, cudaStream_t stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    config.gridDim = dim3(clusters * cluster);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
};

/// Clusters that the chip runs at one time: less than SMs / cluster where an SM of a GPC is left
/// over.
template <class Kernel>
int clusters_that_fit(Kernel* kernel, int cluster, int threads, std::size_t shared) {
  const ClusterLaunch launch(cuda::device().sms / cluster, cluster, threads, shared, nullptr);
  int count = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveClusters(&count, kernel, &launch.config));
  return count;
}

/// The same of a kernel that has no other cluster. Throws Unsupported where none fits.
template <class Kernel>
int clusters_needed(Kernel* kernel, int cluster, int threads, std::size_t shared) {
  const int count = clusters_that_fit(kernel, cluster, threads, shared);
  if (count == 0) throw cuda::Unsupported("no cluster of its blocks fits this GPU");
  return count;
}

}  // namespace kernels::matmul
