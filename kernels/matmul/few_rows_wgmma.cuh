// Few rows on wgmma: Z^T = Y^T . X^T, with 64 columns of weights as the operand of 64 rows and X's
// rows as the other's 8 to 64 columns, both straight from shared memory: no thread touches a
// weight. A producer warp keeps a ring of stages filled by TMA, two warpgroups multiply.
//
// A call begins while the kernel just before it in the stream runs, and reads weights before that
// has ended: it must not write them, nor, where it began early too, may the one before it. X may be
// what it wrote: X, Z and parts in memory wait for its end.
#pragma once

#include <algorithm>
#include <memory>

#include "kernels/matmul/few_rows.cuh"
#include "kernels/matmul/wgmma_tile.cuh"
#include "kernels/op.hpp"

namespace kernels::matmul {

constexpr int kFewConsumers = 2;  ///< warpgroups
constexpr int kFewThreads = kFewConsumers * kWarpgroup + 32;

/// A tile of Z: rows, and panels of 64 columns for each warpgroup.
template <int kR, int kP>
struct FewShape {
  static constexpr int kRows = kR, kPanels = kP, kColumns = kFewConsumers * kP * kPanel;
  static constexpr int kRegisters = kR / 2;  ///< a thread's sums of a panel
};

/// 128 bytes of K: in 8 bits a panel of Y is [64 of N][128 B of K], in 16 bits [64 of K][128 B of
/// N].
template <class Shape>
struct FewStage {
  alignas(1024) unsigned char y[kFewConsumers * Shape::kPanels][kPanelBytes];
  alignas(1024) unsigned char x[Shape::kRows * kSpan];  ///< [M][128 B of K]
};

template <class Shape>
struct FewRing {
  static constexpr int kStages = (216 << 10) / sizeof(FewStage<Shape>);
  FewStage<Shape> stages[kStages];
  ptx::Mbarrier full[kStages], empty[kStages];
};

/// The steps along K of all tiles lie end to end on a line.
struct FewLine {
  int tiles;  ///< of a product
  int steps;  ///< of a tile
};

/// A step's place.
struct FewPlace {
  int step, tile, batch;
  __device__ __forceinline__ FewPlace(const FewLine& line, int at)
      : step(at % line.steps),
        tile(at / line.steps % line.tiles),
        batch(at / line.steps / line.tiles) {}
  __device__ __forceinline__ void advance(const FewLine& line) {
    if (++step < line.steps) return;
    step = 0;
    if (++tile < line.tiles) return;
    tile = 0;
    ++batch;
  }
};

/// Makes the ring's barriers, by all threads of the block.
template <class Shape>
__device__ __forceinline__ void init_few_ring(FewRing<Shape>& ring, const Maps& maps) {
  if (threadIdx.x == kFewConsumers * kWarpgroup) {
    ptx::prefetch_map(maps.y);
    ptx::prefetch_map(maps.x);
    init_ring(ring.full, ring.empty, kFewConsumers);
  }
  __syncthreads();
}

/// Rows of Y that one copy brings.
template <class Type, class Shape>
constexpr int kFewBoxRows = Type::kTransposed ? Shape::kColumns : kStep<Type>;

template <class Type, class Shape>
__device__ __forceinline__ void load_few_y(FewStage<Shape>& stage, const Maps& maps,
                                           const FewPlace& place, ptx::Mbarrier& full) {
  const int column = place.tile * Shape::kColumns, k = place.step * kStep<Type>;
  ptx::mbarrier_arrive_expect(full, sizeof(FewStage<Shape>));
  if constexpr (Type::kTransposed) {
    ptx::load_box(stage.y, maps.y, k, column, place.batch, full);
  } else {
#pragma unroll
    for (int p = 0; p < Shape::kColumns / kPanel; ++p)
      ptx::load_box(stage.y[p], maps.y, column + p * kPanel, k, place.batch, full);
  }
}
template <class Type, class Shape>
__device__ __forceinline__ void load_few_x(FewStage<Shape>& stage, const Maps& maps,
                                           const FewPlace& place, ptx::Mbarrier& full) {
  ptx::load_box(stage.x, maps.x, place.step * kStep<Type>, 0, place.batch, full);
}

/// Brings in steps `at` to `end` - 1 of the line, by one thread: the weights of the first stages
/// while the kernel before still runs, which must not write them, all else after its end.
template <class Type, class Shape>
__device__ __forceinline__ void produce_few(FewRing<Shape>& ring, const Maps& maps,
                                            const FewLine& line, int at, int end) {
  constexpr int kStages = FewRing<Shape>::kStages;
  RingPosition<kStages> in;
  FewPlace place(line, at);
  const int ahead = std::min(end - at, kStages);
  FewPlace place_x = place;
  for (int s = 0; s < ahead; ++s, place.advance(line))
    load_few_y<Type>(ring.stages[s], maps, place, ring.full[s]);
  ptx::wait_for_kernel_before();
  for (int s = 0; s < ahead; ++s, place_x.advance(line), in.advance())
    load_few_x<Type>(ring.stages[s], maps, place_x, ring.full[s]);
  at += ahead;
  for (; at < end; ++at, place.advance(line), in.advance()) {
    auto& full = ring.full[in.stage];
    ptx::mbarrier_wait(ring.empty[in.stage], in.parity ^ 1);
    load_few_y<Type>(ring.stages[in.stage], maps, place, full);
    load_few_x<Type>(ring.stages[in.stage], maps, place, full);
  }
}

/// A warpgroup's sums of its columns: register r of a panel is row 8 (r / 4) + 2 (lane % 4) + r % 2
/// of Z and column 16 * warp + lane / 4 + 8 (r / 2 % 2).
template <class Type, class Shape>
using FewSums = typename Type::Accumulator[Shape::kPanels][Shape::kRegisters];

template <class Scalar, int kPanels, int kRegisters>
__device__ __forceinline__ void pin_few(Scalar (&d)[kPanels][kRegisters]) {
#pragma unroll
  for (int p = 0; p < kPanels; ++p) ptx::pin(d[p]);
}

/// Enqueues a stage's products of one of its panels.
template <class Type, class Shape>
__device__ __forceinline__ void multiply_few_panel(
    typename Type::Accumulator (&d)[Shape::kRegisters], const FewStage<Shape>& stage, int panel,
    bool accumulate) {
  constexpr int kInstructions = 4;  // 32 bytes of K each
  constexpr int kNextY = Type::kTransposed ? 2 : 128;
  const auto shared_y = ptx::shared_address(stage.y[panel]);
  const std::uint64_t x = ptx::descriptor_k_major_128(ptx::shared_address(stage.x));
  const std::uint64_t y = Type::kTransposed ? ptx::descriptor_k_major_128(shared_y)
                                            : ptx::descriptor_mn_major_128(shared_y, kPanelBytes);
#pragma unroll
  for (int i = 0; i < kInstructions; ++i)
    Type::multiply(d, y + kNextY * i, x + 2 * i, accumulate || i > 0);
}

/// d = the products of the ring's next `steps` stages. A stage is given back as soon as it was
/// read: with the next one multiplied first, the ring would be shorter by one where memory binds.
template <class Type, class Shape>
__device__ __forceinline__ void multiply_few(FewSums<Type, Shape>& d, FewRing<Shape>& ring,
                                             RingPosition<FewRing<Shape>::kStages>& at, int steps,
                                             int group) {
  constexpr int kPanels = Shape::kPanels, kRegisters = Shape::kRegisters;
  if constexpr (kPromoted<Type>) {
#pragma unroll
    for (int i = 0; i < kPanels * kRegisters; ++i) d[i / kRegisters][i % kRegisters] = 0;
  }
  for (int step = 0; step < steps; ++step, at.advance()) {
    const auto& stage = ring.stages[at.stage];
    ptx::mbarrier_wait(ring.full[at.stage], at.parity);
    if constexpr (kPromoted<Type>) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        typename Type::Accumulator products[kRegisters];
        ptx::pin(products);
        ptx::wgmma_fence();
        multiply_few_panel<Type, Shape>(products, stage, group * kPanels + p, false);
        ptx::wgmma_commit();
        ptx::wgmma_wait<0>();
        ptx::pin(products);
#pragma unroll
        for (int r = 0; r < kRegisters; ++r) d[p][r] += products[r];
      }
    } else {
      pin_few(d);
      ptx::wgmma_fence();
#pragma unroll
      for (int p = 0; p < kPanels; ++p)
        multiply_few_panel<Type, Shape>(d[p], stage, group * kPanels + p, step > 0);
      ptx::wgmma_commit();
      ptx::wgmma_wait<0>();
      pin_few(d);
    }
    if (threadIdx.x % kWarpgroup == 0) ptx::mbarrier_arrive(ring.empty[at.stage]);
  }
}

template <class Function>
auto by_few_wgmma_type(cuda::Type type, Function f) {
  if (type == cuda::Type::e4m3) return f.template operator()<E4m3>();
  if (type == cuda::Type::s8) return f.template operator()<S8>();
  if (type == cuda::Type::f16) return f.template operator()<F16Y>();
  return f.template operator()<Bf16Y>();
}

/// Throws BadInput where there are more steps than an int counts.
template <class Type, class Shape>
FewLine few_line(const GpuArguments& a) {
  const std::int64_t columns = tiles(a.n, Shape::kColumns), steps = tiles(a.k, kStep<Type>);
  if (columns * steps * a.batch > (1 << 27)) throw BadInput("matmul of few rows: too large");
  return {static_cast<int>(columns), static_cast<int>(steps)};
}

/// A launch of `blocks` blocks in clusters, which may begin while the kernel before runs. Holds
/// what `config` points to: not to be copied.
struct FewLaunch {
  FewLaunch(int blocks, int cluster, std::size_t shared, cudaStream_t stream,
            int threads = kFewThreads) {
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = cluster > 1 ? 2 : 1;
  }
  FewLaunch(const FewLaunch&) = delete;
  FewLaunch& operator=(const FewLaunch&) = delete;

  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
};

constexpr GpuTiles kFewWgmmaTiles = {.block_m = kFewRows,
                                     .block_n = 256,
                                     .block_k = kSpan / 2,
                                     .warp_m = kFewRows,
                                     .warp_n = kPanel};

}  // namespace kernels::matmul
