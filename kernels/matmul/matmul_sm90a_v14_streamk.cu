// Idea: stream-K: the steps along K of all tiles lie end to end and each block has an equal share.
// A block that makes a part of a tile leaves its sums in memory; the last of the tile's blocks to
// come adds them up, in the order of K, and stores the tile, so that no block waits for another.
// Bound: HBM by the weights' bytes where M is small, else the tensor cores. Where parts would cost
// more than they gain, by stream_k(), tiles stay whole.
// Gains over v13 where tiles fill few of 132 SMs or leave a nearly empty last turn: on an H200 in
// bf16, N = K = 8192, 1.4 at M = 256 (65 us), 1.05 at 512; 52 us at M = 128, where cuBLASLt takes
// 38.
#include "kernels/matmul/stream_k_parts.cuh"
#include "kernels/matmul/tile_raster.hpp"
#include "kernels/matmul/wgmma_store.cuh"

namespace kernels::matmul {
namespace {

constexpr int kGroup = 16;  ///< rows of tiles
/// That a part takes: 128 KB at 64 B a clock are 2048 clocks, where the 128 x 256 x 64 products of
/// bf16, at 2048 a clock, take 1024. The other types have the same ratio.
constexpr int kPartSteps = 2;

template <class Type>
struct Shared : TileShared<Type> {
  bool last[kConsumers];  ///< this block is the last of a tile's to come
};
static_assert(sizeof(Shared<Bf16>) <= 227 << 10, "a block's shared memory");

struct State {
  Maps maps;
  ZTarget z;
  TileGrid grid;
  StreamKState parts;
};

template <class Type>
using PartOf = Part<typename Type::Accumulator, kTileN / 2>;

template <class Type, class Out>
__global__ void __launch_bounds__(kThreads, 1)
    streamk_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                   const __grid_constant__ ZTarget z, TileGrid grid, StreamK work,
                   PartOf<Type>* sums, unsigned* finished) {
  auto& shared = ptx::dynamic_shared<Shared<Type>>();
  const int t = threadIdx.x;
  if (t == 0) init_ring(shared.full, shared.empty, kConsumers);
  __syncthreads();

  RingPosition<Shared<Type>::kStages> at;
  Pieces pieces(work, blockIdx.x);
  Piece piece;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    if (t != 0) return;
    while (pieces.next(work, piece)) {
      const TileAt tile = tile_at<kGroup>(grid, piece.tile);
      for (int s = piece.first; s < piece.end; ++s, at.advance()) {
        auto& full = shared.full[at.stage];
        auto& stage = shared.stages[at.stage];
        const int k = s * kStep<Type>;
        ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
        ptx::mbarrier_arrive_expect(full, kStageBytes<kTileN>);
        load_x(stage, x, tile.m * kTileM, k, tile.batch, full);
        load_y<Type>(stage, y, tile.n * kTileN, k, tile.batch, full);
      }
    }
    return;
  }

  ptx::registers_up_to<232>();
  const int group = t / kWarpgroup - 1, barrier = 1 + group;
  const bool signals = t % kWarpgroup == 0;
  while (pieces.next(work, piece)) {
    typename Type::Accumulator d[kTileN / 2];
    multiply_steps<Type>(d, shared, at, piece.end - piece.first, group, [&](int stage) {
      if (signals) ptx::mbarrier_arrive(shared.empty[stage]);
    });
    if (!sum_of_parts<kConsumers>(d, work, piece.tile, sums, finished, group, barrier,
                                  shared.last[group]))
      continue;
    const TileAt tile = tile_at<kGroup>(grid, piece.tile);
    store_by_tma<Out>(d, shared.out[group], z, tile.m * kTileM + 64 * group, tile.n * kTileN,
                      tile.batch, barrier, signals);
  }
  if (signals) ptx::store_wait();
}

template <class Type, class Out>
std::shared_ptr<void> open_as(const GpuArguments& a, const GpuTypes& types) {
  allow_shared(streamk_kernel<Type, Out>, sizeof(Shared<Type>));
  const TileGrid grid{tiles(a.m, kTileM), tiles(a.n, kTileN), static_cast<int>(a.batch)};
  const StreamK work =
      stream_k(grid.count(), tiles(a.k, kStep<Type>), cuda::device().sms, kPartSteps);
  const auto* first = static_cast<const State*>(a.state);
  return std::make_shared<State>(
      State{make_maps<Type>(a, types.x), z_target(a, types.z), grid,
            stream_k_state(work, kConsumers, kConsumers * sizeof(PartOf<Type>),
                           first ? &first->parts : nullptr)});
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_by_types(types,
                       [&]<class Type, class Out>() { return open_as<Type, Out>(a, types); });
}

template <class Type, class Out = typename Type::Accumulator>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  const auto& [work, bytes, sums, finished] = state.parts;
  streamk_kernel<Type, Out><<<work.blocks, kThreads, sizeof(Shared<Type>), stream>>>(
      state.maps.x, state.maps.y, state.z, state.grid, work, cuda::as<PartOf<Type>>(sums),
      cuda::as<unsigned>(finished));
  CUDA_CHECK_LAUNCH("stream-K matmul");
}

double part_bytes(const void* state) { return static_cast<const State*>(state)->parts.part_bytes; }

template <class Type>
constexpr GpuTiles kTiles = [] {
  return GpuTiles{.block_m = kTileM,
                  .block_n = kTileN,
                  .block_k = kStep<Type>,
                  .warp_m = 64,
                  .warp_n = kColumnsAtOnce<Type, kTileN>};
}();

}  // namespace

extern const GpuKernel sm90a_v14_streamk = {.exec_unit = "wgmma",
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
                                            .open_each = true,
                                            .part_bytes = part_bytes};

}  // namespace kernels::matmul
