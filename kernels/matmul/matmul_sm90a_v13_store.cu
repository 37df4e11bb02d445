// Idea: tiles of Z leave through shared memory by TMA, in whole 128-byte rows, while the warps go
// on to the next tile; every type that wgmma has, and Z in 16 bits by stmatrix.
// Bound: the tensor cores of each type. In e4m3 they keep some 14 bits within 128 products; those
// sums are added up in fp32 on the CUDA cores, half of the columns at a time.
// Gains over v12: no partly used sectors, no address arithmetic and no masks in the warps that
// multiply: 1.03 to 1.06 on an H200 at 4096 cubed; cuBLASLt takes 0.97 to 1.02 times as long in
// bf16, tf32 and int8, 0.91 to 0.95 times in e4m3.
// Tried: squares of four blocks that multicast X too: 0.89 to 0.93; the clock rises, but SMs wait.
// Tried: four stages and two panels in place of three and five: 0.99 to 1.01.
// Tried: groups of 4 rows of tiles: 0.96 to 0.99; of 16: 0.99 to 1.02.
// Tried: warpgroups two steps apart, so that one stores while one multiplies: 0.99 to 1.01, e4m3
// 0.91.
// Tried: e4m3 in tiles of 128 columns, which L2 does not feed: 0.86.
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

template <class Type, class Out>
__global__ void __launch_bounds__(kThreads, 1)
    store_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                 const __grid_constant__ ZTarget z, int steps, TileGrid pairs) {
  auto& shared = ptx::dynamic_shared<TileShared<Type>>();
  const int t = threadIdx.x;
  const int rank = static_cast<int>(ptx::cluster_rank());
  if (t == 0) init_ring(shared.full, shared.empty, kCluster * kConsumers);
  ptx::cluster_sync();

  const int first = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  RingPosition<TileShared<Type>::kStages> at;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
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
  for (int i = first;; i += step) {
    const TileAt pair = tile_at<kGroup>(pairs, i);
    // Not in the loop's head: ptxas gives such a loop 178 registers, and spills.
    if (pair.batch >= pairs.batch) break;
    typename Type::Accumulator d[kTileN / 2];
    multiply_steps(d, shared, at, steps, group, [&](int stage) {
      // The first two threads each tell one block.
      if (in_group < kCluster) ptx::mbarrier_arrive_at(shared.empty[stage], in_group);
    });
    store_by_tma<Out>(d, shared.out[group], z, (kCluster * pair.m + rank) * kTileM + 64 * group,
                      pair.n * kTileN, pair.batch, 1 + group, in_group == 0);
  }
  if (in_group == 0) ptx::store_wait();
  __syncwarp();
  ptx::cluster_sync();  // a block that ended could not be written to or signalled any more
}

template <class Type, class Out>
std::shared_ptr<void> open_as(const GpuArguments& a, const GpuTypes& types) {
  constexpr auto kKernel = store_kernel<Type, Out>;
  allow_shared(kKernel, sizeof(TileShared<Type>));
  const TileGrid pairs{tiles(a.m, kCluster * kTileM), tiles(a.n, kTileN),
                       static_cast<int>(a.batch)};
  const int fit = clusters_that_fit(kKernel, kCluster, kThreads, sizeof(TileShared<Type>));
  return std::make_shared<State>(
      State{make_maps<Type>(a, types.x), z_target(a, types.z), pairs,
            static_cast<int>(std::min<std::int64_t>(fit, pairs.count()))});
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_by_types(types,
                       [&]<class Type, class Out>() { return open_as<Type, Out>(a, types); });
}

template <class Type, class Out = typename Type::Accumulator>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  ClusterLaunch launch(state.clusters, kCluster, kThreads, sizeof(TileShared<Type>), stream);
  constexpr auto kKernel = store_kernel<Type, Out>;
  CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps.x, state.maps.y, state.z,
                                tiles(a.k, kStep<Type>), state.pairs));
}

template <class Type>
constexpr GpuTiles kTiles = {.block_m = kTileM,
                             .block_n = kTileN,
                             .block_k = kStep<Type>,
                             .warp_m = 64,
                             .warp_n = kTileN,
                             .cluster_m = kCluster};

}  // namespace

extern const GpuKernel sm90a_v13_store = {.exec_unit = "wgmma",
                                          .bf16 = launch<Bf16>,
                                          .f16 = launch<F16>,
                                          .bf16_out = launch<Bf16, bf16>,
                                          .f16_out = launch<F16, __half>,
                                          .tf32_pre = launch<Tf32>,
                                          .e4m3 = launch<E4m3>,
                                          .s8 = launch<S8>,
                                          .tiles = kTiles<Bf16>,
                                          .e4m3_tiles = kTiles<E4m3>,
                                          .open = open,
                                          .open_each = true};

}  // namespace kernels::matmul
