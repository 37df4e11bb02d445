// Idea: v14's equal shares for v13's pairs: two blocks, one below the other, have a share together
// and read each weight once, into both. A call begins while the one before ends, as in
// sm90a_skinny.
// Bound: the tensor cores, from some 200 rows on; below, the HBM roof.
// Gains over v14: not timed yet. With 256 rows v14's blocks of the same columns are a tile's steps
// apart, or in different shares: weights come from HBM twice, and L2 is asked for 48 bytes a clock
// and SM, of the 43 that it has; here for 32. Predicted for an H200, bf16, cold, M = 256: LLaMA-3
// 8B gate (112 pairs of tiles over 66 clusters, 109 steps each and 10 for parts) 86 us of tensor
// cores under the power cap and 4: 90 (v14 146, cuBLASLt 99); 70B QKV (N = 10240, K = 8192; 78 and
// 10 steps) 61 and 8: 69, where whole tiles leave 26 of 66 clusters idle. sm90a_rows_cluster is
// faster where tiles are few: parts of 128 KB a block pass through L2 here.
#include "kernels/matmul/few_rows_wgmma.cuh"
#include "kernels/matmul/stream_k_parts.cuh"
#include "kernels/matmul/tile_raster.hpp"
#include "kernels/matmul/wgmma_store.cuh"

namespace kernels::matmul {
namespace {

constexpr int kCluster = 2;
constexpr int kGroup = 8;                    ///< pairs of tiles
constexpr int kAll = kCluster * kConsumers;  ///< warpgroups that make a pair of tiles
constexpr int kPartSteps = 2;                ///< that a part takes, as in v14

template <class Type>
struct Shared : TileShared<Type> {
  bool last[kConsumers];  ///< this block is the last of a tile's to come
};
static_assert(sizeof(Shared<Bf16>) <= 227 << 10, "a block's shared memory");

struct State {
  Maps maps;
  ZTarget z;
  TileGrid pairs;
  StreamKState parts;
};

template <class Type>
using PartOf = Part<typename Type::Accumulator, kTileN / 2>;

/// A cluster's steps, one after the other.
class Walk {
 public:
  __device__ __forceinline__ Walk(const TileGrid& pairs, const StreamK& work, int cluster)
      : pieces_(work, cluster) {
    next(pairs, work);
  }
  __device__ __forceinline__ void advance(const TileGrid& pairs, const StreamK& work) {
    if (++step >= piece_.end) next(pairs, work);
  }
  bool done;
  TileAt pair;
  int step;

 private:
  __device__ __forceinline__ void next(const TileGrid& pairs, const StreamK& work) {
    done = !pieces_.next(work, piece_);
    if (done) return;
    pair = tile_at<kGroup>(pairs, static_cast<int>(piece_.tile));
    step = piece_.first;
  }
  Pieces pieces_;
  Piece piece_;
};

template <class Type>
__device__ __forceinline__ void load_weights(Shared<Type>& shared, const CUtensorMap& y, int rank,
                                             const Walk& at, int stage) {
  auto& full = shared.full[stage];
  ptx::mbarrier_arrive_expect(full, kStageBytes<kTileN>);
  load_y_half<Type>(shared.stages[stage], y, rank, at.pair.n * kTileN, at.step * kStep<Type>,
                    at.pair.batch, full);
}
template <class Type>
__device__ __forceinline__ void load_rows(Shared<Type>& shared, const CUtensorMap& x, int rank,
                                          const Walk& at, int stage) {
  load_x(shared.stages[stage], x, (kCluster * at.pair.m + rank) * kTileM, at.step * kStep<Type>,
         at.pair.batch, shared.full[stage]);
}

/// Brings in all steps, by one thread: the weights of the first stages while the kernel before
/// still runs, which must not write them, all else after its end.
template <class Type>
__device__ __forceinline__ void produce(Shared<Type>& shared, const Maps& maps, int rank,
                                        int cluster, const TileGrid& pairs, const StreamK& work) {
  constexpr int kStages = Shared<Type>::kStages;
  RingPosition<kStages> in;
  Walk at(pairs, work, cluster), at_x = at;
  int ahead = 0;
  for (; ahead < kStages && !at.done; ++ahead, at.advance(pairs, work))
    load_weights(shared, maps.y, rank, at, ahead);
  ptx::wait_for_kernel_before();
  for (int s = 0; s < ahead; ++s, at_x.advance(pairs, work), in.advance())
    load_rows(shared, maps.x, rank, at_x, s);
  for (; !at.done; at.advance(pairs, work), in.advance()) {
    ptx::mbarrier_wait(shared.empty[in.stage], in.parity ^ 1);
    load_weights(shared, maps.y, rank, at, in.stage);
    load_rows(shared, maps.x, rank, at, in.stage);
  }
  wait_for_releases(shared.empty, in);
}

template <class Type, class Out>
__global__ void __launch_bounds__(kThreads, 1)
    pairs_kernel(const __grid_constant__ Maps maps, const __grid_constant__ ZTarget z,
                 TileGrid pairs, StreamK work, PartOf<Type>* sums, unsigned* finished) {
  auto& shared = ptx::dynamic_shared<Shared<Type>>();
  ptx::launch_dependents();
  const int t = threadIdx.x, cluster = blockIdx.x / kCluster;
  const int rank = static_cast<int>(ptx::cluster_rank());
  if (t == 0) {
    ptx::prefetch_map(maps.y);
    ptx::prefetch_map(maps.x);
    init_ring(shared.full, shared.empty, kAll);
  }
  ptx::cluster_meet();  // before the other block fills or signals what was just made

  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    if (t == 0) produce(shared, maps, rank, cluster, pairs, work);
    __syncwarp();
    ptx::cluster_meet();
    return;  // were the branches to meet again, ptxas would not let one have more registers
  }

  ptx::registers_up_to<232>();
  ptx::wait_for_kernel_before();
  const int group = t / kWarpgroup - 1, in_group = t % kWarpgroup, barrier = 1 + group;
  RingPosition<Shared<Type>::kStages> at;
  Pieces pieces(work, cluster);
  Piece piece;
  while (pieces.next(work, piece)) {
    typename Type::Accumulator d[kTileN / 2];
    multiply_steps<Type>(d, shared, at, piece.end - piece.first, group, [&](int stage) {
      // The first two threads each tell one block.
      if (in_group < kCluster) ptx::mbarrier_arrive_at(shared.empty[stage], in_group);
    });
    if (!sum_of_parts<kAll>(d, work, piece.tile, sums, finished, kConsumers * rank + group, barrier,
                            shared.last[group], cluster))
      continue;
    const TileAt pair = tile_at<kGroup>(pairs, static_cast<int>(piece.tile));
    store_by_tma<Out>(d, shared.out[group], z, (kCluster * pair.m + rank) * kTileM + 64 * group,
                      pair.n * kTileN, pair.batch, barrier, in_group == 0);
  }
  if (in_group == 0) ptx::store_wait();
  __syncwarp();
  ptx::cluster_meet();  // a block that ended could not be written to or signalled any more
}

template <class Type, class Out>
std::shared_ptr<void> open_as(const GpuArguments& a, const GpuTypes& types) {
  constexpr auto kKernel = pairs_kernel<Type, Out>;
  allow_shared(kKernel, sizeof(Shared<Type>));
  const TileGrid pairs{tiles(a.m, kCluster * kTileM), tiles(a.n, kTileN),
                       static_cast<int>(a.batch)};
  const int fit = clusters_needed(kKernel, kCluster, kThreads, sizeof(Shared<Type>));
  const StreamK work = stream_k(pairs.count(), tiles(a.k, kStep<Type>), fit, kPartSteps);
  const auto* first = static_cast<const State*>(a.state);
  return std::make_shared<State>(State{
      make_maps<Type>(a, types.x), z_target(a, types.z), pairs,
      stream_k_state(work, kAll, kAll * sizeof(PartOf<Type>), first ? &first->parts : nullptr)});
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_by_types(types,
                       [&]<class Type, class Out>() { return open_as<Type, Out>(a, types); });
}

template <class Type, class Out = typename Type::Accumulator>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  const auto& [work, bytes, sums, finished] = state.parts;
  const FewLaunch launch(kCluster * work.blocks, kCluster, sizeof(Shared<Type>), stream, kThreads);
  constexpr auto kKernel = pairs_kernel<Type, Out>;
  CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps, state.z, state.pairs, work,
                                cuda::as<PartOf<Type>>(sums), cuda::as<unsigned>(finished)));
}

double part_bytes(const void* state) { return static_cast<const State*>(state)->parts.part_bytes; }

template <class Type>
constexpr GpuTiles kTiles = [] {
  return GpuTiles{.block_m = kTileM,
                  .block_n = kTileN,
                  .block_k = kStep<Type>,
                  .warp_m = 64,
                  .warp_n = kColumnsAtOnce<Type, kTileN>,
                  .cluster_m = kCluster};
}();

}  // namespace

/// Begins before the kernel just before it in the stream has ended, which must not write the
/// weights (few_rows_wgmma.cuh).
extern const GpuKernel sm90a_streamk_pairs = {.exec_unit = "wgmma",
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
                                              .begins_early = true,
                                              .part_bytes = part_bytes};

}  // namespace kernels::matmul
