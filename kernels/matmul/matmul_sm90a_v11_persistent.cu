// Idea: a block an SM that goes on from tile to tile, in an order that keeps the rows of X and the
// columns of Y of all running tiles in L2; tiles twice as wide.
// Bound: the tensor cores; wgmma on 256 columns takes 80 B of shared memory a clock where 128 take
// 96, and the tiles a quarter less from L2.
// Gains over v10: the ring stays full across tiles, so that the next tile's loads hide behind this
// one's stores: 1.09 on an H200 at 4096 cubed, 635 TFLOP/s at 700 W, which set the clock from here
// on: 1.39 GHz.
#include "kernels/matmul/tile_raster.hpp"
#include "kernels/matmul/wgmma_tile.cuh"

namespace kernels::matmul {
namespace {

constexpr int kTileN = 256, kStages = 4, kConsumers = 2;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kGroup = 16;  ///< rows of tiles: 132 blocks cover 2048 rows x 2112 columns

struct Shared {
  Stage<kTileN> stages[kStages];
  ptx::Mbarrier full[kStages], empty[kStages];
};
static_assert(sizeof(Shared) <= 227 << 10, "a block's shared memory");

struct State {
  Maps maps;
  TileGrid grid;
  int blocks;
};

__global__ void __launch_bounds__(kThreads, 1)
    persistent_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                      GpuArguments a, TileGrid grid) {
  auto& shared = ptx::dynamic_shared<Shared>();
  const int t = threadIdx.x;
  if (t == 0) init_ring(shared.full, shared.empty, kConsumers);
  __syncthreads();

  RingPosition<kStages> at;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    if (t != 0) return;
    for (std::int64_t i = blockIdx.x; i < grid.count(); i += gridDim.x) {
      const TileAt tile = tile_at<kGroup>(grid, i);
      for (int k = 0; k < a.k; k += kStep<Bf16>, at.advance()) {
        auto& full = shared.full[at.stage];
        ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
        ptx::mbarrier_arrive_expect(full, kStageBytes<kTileN>);
        load_x(shared.stages[at.stage], x, tile.m * kTileM, k, tile.batch, full);
        load_y<Bf16>(shared.stages[at.stage], y, tile.n * kTileN, k, tile.batch, full);
      }
    }
    return;
  }

  ptx::registers_up_to<232>();
  const int group = t / kWarpgroup - 1;
  const bool signals = t % kWarpgroup == 0;
  for (std::int64_t i = blockIdx.x; i < grid.count(); i += gridDim.x) {
    const TileAt tile = tile_at<kGroup>(grid, i);
    float d[kTileN / 2];
    int before = 0;
    for (int k = 0; k < a.k; k += kStep<Bf16>, at.advance()) {
      ptx::mbarrier_wait(shared.full[at.stage], at.parity);
      multiply<Bf16>(d, shared.stages[at.stage], group, k > 0);
      ptx::wgmma_wait<1>();  // the products of the stage before are done: it can be filled again
      if (k > 0 && signals) ptx::mbarrier_arrive(shared.empty[before]);
      before = at.stage;
    }
    ptx::wgmma_wait<0>();
    ptx::pin(d);
    if (signals) ptx::mbarrier_arrive(shared.empty[before]);
    store(d, a, tile.m * kTileM + 64 * group, tile.n * kTileN, tile.batch);
  }
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  allow_shared(persistent_kernel, sizeof(Shared));
  const TileGrid grid{tiles(a.m, kTileM), tiles(a.n, kTileN), static_cast<int>(a.batch)};
  return std::make_shared<State>(
      State{make_maps<Bf16>(a, types.x), grid,
            static_cast<int>(std::min<std::int64_t>(cuda::device().sms, grid.count()))});
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  persistent_kernel<<<state.blocks, kThreads, sizeof(Shared), stream>>>(state.maps.x, state.maps.y,
                                                                        a, state.grid);
  CUDA_CHECK_LAUNCH("persistent matmul");
}

}  // namespace

extern const GpuKernel sm90a_v11_persistent = {.exec_unit = "wgmma",
                                               .bf16 = launch,
                                               .tiles = {.block_m = kTileM,
                                                         .block_n = kTileN,
                                                         .block_k = kStep<Bf16>,
                                                         .warp_m = 64,
                                                         .warp_n = kTileN},
                                               .open = open,
                                               .open_each = true};

}  // namespace kernels::matmul
