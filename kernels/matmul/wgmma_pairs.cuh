// What v13, v16 and v17 share: the persistent kernel of block pairs that multicast their columns of
// Y, and its launch. What consumers do is up to the rung.
#pragma once

#include "kernels/matmul/tile_raster.hpp"
#include "kernels/matmul/wgmma_store.cuh"

namespace kernels::matmul {
namespace {

constexpr int kCluster = 2;
constexpr int kGroup = 8;  ///< pairs of tiles

struct State {
  Maps maps;
  ZTarget z;
  TileGrid pairs;
  int clusters;
};

/// A block's share of the work: every `step`th pair of tiles from `first` on, of each the tile with
/// the block's rank.
struct Share {
  TileGrid pairs;
  int first, step, steps, rank;  ///< steps of K
  __device__ int row(const TileAt& pair, int group) const {
    return (kCluster * pair.m + rank) * kTileM + 64 * group;
  }
};

/// A consumer that multiplies a tile, by `Products::multiply` in the place of multiply_steps, and
/// then stores it.
template <class Products>
struct OneAfterTheOther {
  template <class Type, class Out, class Release>
  static __device__ __forceinline__ void run(TileShared<Type>& shared, const ZTarget& z,
                                             const Share& share, int group, bool sends,
                                             const Release& release) {
    RingPosition<TileShared<Type>::kStages> at;
    for (int i = share.first;; i += share.step) {
      const TileAt pair = tile_at<kGroup>(share.pairs, i);
      // Not in the loop's head: ptxas gives such a loop 178 registers, and spills.
      if (pair.batch >= share.pairs.batch) break;
      typename Type::Accumulator d[kTileN / 2];
      Products::multiply(d, shared, at, share.steps, group, release);
      store_by_tma<Out>(d, shared.out[group], z, share.row(pair, group), pair.n * kTileN,
                        pair.batch, 1 + group, sends);
    }
  }
};

/// `Consumer::run` is what a consumer warpgroup does.
template <class Type, class Out, class Consumer>
__global__ void __launch_bounds__(kThreads, 1)
    store_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                 const __grid_constant__ ZTarget z, int steps, TileGrid pairs) {
  auto& shared = ptx::dynamic_shared<TileShared<Type>>();
  const int t = threadIdx.x;
  const int rank = static_cast<int>(ptx::cluster_rank());
  if (t == 0) init_ring(shared.full, shared.empty, kCluster * kConsumers);
  ptx::cluster_sync();

  const int first = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    RingPosition<TileShared<Type>::kStages> at;
    if (t == 0)
      for (int i = first; i < pairs.count(); i += step) {
        const TileAt pair = tile_at<kGroup>(pairs, i);
        for (int s = 0; s < steps; ++s, at.advance()) {
          auto& full = shared.full[at.stage];
          auto& stage = shared.stages[at.stage];
          const int k = s * kStep<Type>;
          ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
          ptx::mbarrier_arrive_expect(full, kStageBytes<kTileN>);
          load_x(stage, x, (kCluster * pair.m + rank) * kTileM, k, pair.batch, full);
          load_y_half<Type>(stage, y, rank, pair.n * kTileN, k, pair.batch, full);
        }
      }
    __syncwarp();
    ptx::cluster_sync();
    return;  // were the branches to meet again, ptxas would not let one have more registers
  }

  ptx::registers_up_to<232>();
  const int group = t / kWarpgroup - 1, in_group = t % kWarpgroup;
  const Share share{pairs, first, step, steps, rank};
  Consumer::template run<Type, Out>(shared, z, share, group, in_group == 0, [&](int stage) {
    // The first two threads each tell one block.
    if (in_group < kCluster) ptx::mbarrier_arrive_at(shared.empty[stage], in_group);
  });
  if (in_group == 0) ptx::store_wait();
  __syncwarp();
  ptx::cluster_sync();  // a block that ended could not be written to or signalled any more
}

template <class Type, class Out, class Consumer>
std::shared_ptr<void> open_pairs(const GpuArguments& a, const GpuTypes& types) {
  constexpr auto kKernel = store_kernel<Type, Out, Consumer>;
  allow_shared(kKernel, sizeof(TileShared<Type>));
  const TileGrid pairs{tiles(a.m, kCluster * kTileM), tiles(a.n, kTileN),
                       static_cast<int>(a.batch)};
  const int fit = clusters_needed(kKernel, kCluster, kThreads, sizeof(TileShared<Type>));
  return std::make_shared<State>(
      State{make_maps<Type>(a, types.x), z_target(a, types.z), pairs,
            static_cast<int>(std::min<std::int64_t>(fit, pairs.count()))});
}

template <class Type, class Out, class Consumer>
void launch_pairs(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  ClusterLaunch launch(state.clusters, kCluster, kThreads, sizeof(TileShared<Type>), stream);
  constexpr auto kKernel = store_kernel<Type, Out, Consumer>;
  CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps.x, state.maps.y, state.z,
                                tiles(a.k, kStep<Type>), state.pairs));
}

/// Where a consumer makes so many columns from one pass over X.
template <class Type, int kColumns = kTileN>
constexpr GpuTiles kTiles = [] {
  return GpuTiles{.block_m = kTileM,
                  .block_n = kTileN,
                  .block_k = kStep<Type>,
                  .warp_m = 64,
                  .warp_n = kColumns,
                  .cluster_m = kCluster};
}();

}  // namespace
}  // namespace kernels::matmul
