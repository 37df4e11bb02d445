// Idea: up to 256 rows: two blocks share what TMA reads for them, the weights where each has 128 of
// the rows, X where both have the same. K is cut over such pairs, a cluster of up to four, which
// add up through distributed shared memory. A call begins while the one before ends, as in
// sm90a_skinny.
// Bound: the HBM roof, by the weights' bytes, up to 128 rows; the tensor cores at 256. Two blocks
// that share X ask L2 for 1.5 bytes a byte of weights with tiles of 128 columns, for 1.25 with 256,
// and alone for 2 and 1.5; two that share weights for 3 and 2, v14 with 256 rows for 3.
// Gains over v14: not timed yet. Predicted for an H200, bf16, cold: M = 128, N = K = 8192: 29 us of
// HBM, 3 until a new call's loads come, 3 to add up and store: 35 us (v14 52.0, cuBLASLt 38.4).
// M = 256, LLaMA-3 8B: gate 86 us of tensor cores under the power cap, and a second turn of 46
// tiles on 66 pairs: 92 (146, 99); down 43 us and 5: 48 (60, 52); N = K = 4096: 12.3 us and 5: 17
// (30, 19). Down and 4096 take 16 clusters of eight or 32 of four at one time: where GPCs have room
// for one less, 53 and 20.
#include <bit>
#include <limits>

#include "kernels/matmul/few_rows_wgmma.cuh"

namespace kernels::matmul {
namespace {

constexpr int kMostBlocks = 8;  ///< of a cluster on any chip
constexpr int kConsumerThreads = kFewConsumers * kWarpgroup;
constexpr int kThreads = kConsumerThreads + kWarpgroup;
constexpr int kHalf = kTileM / 2;  ///< rows of X that one copy brings

/// How a call is cut: each cluster has one tile of Z, or two side by side or one below the other.
struct Cut {
  int columns, tiles;  ///< clusters' worth of tiles, of a product's columns and in all
  int steps;           ///< along K
  int row_blocks;      ///< of 128 rows, that share weights
  int blocks;          ///< of one part of K: row_blocks, or two that share X
  int splits;          ///< parts of K
  int clusters;        ///< that have several tiles where K is whole, else one
  KERNELS_HD constexpr int cluster() const { return blocks * splits; }
};

template <class Type, int kTileN>
struct Shared {
  static constexpr int kStages = (216 << 10) / sizeof(Stage<kTileN>);
  /// Eight words beyond a multiple of 32: pairs of columns of four rows fall into all banks.
  static constexpr int kPitch = kTileN + 8;
  union {
    Stage<kTileN> stages[kStages];
    typename Type::Accumulator sums[kTileM][kPitch];  ///< when the ring is done
  };
  ptx::Mbarrier full[kStages], empty[kStages];
};

/// What this block does of every tile of its cluster.
struct Role {
  int cluster, first;  ///< of the blocks that share: the rank of the first
  int member, split;   ///< which of these, which part of K
  int begin, end;      ///< steps
  __device__ __forceinline__ explicit Role(const Cut& cut) {
    const int block = blockIdx.x, rank = block % cut.cluster();
    cluster = block / cut.cluster();
    member = rank % cut.blocks;
    split = rank / cut.blocks;
    first = rank - member;
    begin = cut.steps * split / cut.splits;
    end = cut.steps * (split + 1) / cut.splits;
  }
  /// Of two blocks that share.
  __device__ __forceinline__ std::uint16_t both() const {
    return static_cast<std::uint16_t>(0b11 << first);
  }
};

/// Where this block's part of a tile lies in Z.
struct Place {
  int row, column, batch;
};
template <int kTileN>
__device__ __forceinline__ Place place_of(const Cut& cut, const Role& role, int tile) {
  const bool below = cut.row_blocks > 1;
  const int columns = tile % cut.columns;
  return {below ? role.member * kTileM : 0,
          (below ? columns : columns * cut.blocks + role.member) * kTileN, tile / cut.columns};
}

/// The steps of a cluster's tiles, one after the other.
template <int kTileN>
class Walk {
 public:
  __device__ __forceinline__ Walk(const Cut& cut, const Role& role)
      : place(place_of<kTileN>(cut, role, role.cluster)), step(role.begin), tile_(role.cluster) {}
  __device__ __forceinline__ void advance(const Cut& cut, const Role& role) {
    if (++step < role.end) return;
    step = role.begin;
    tile_ += cut.clusters;
    place = place_of<kTileN>(cut, role, tile_);
  }
  Place place;
  int step;

 private:
  int tile_;
};

/// Brings a step's weights into a stage: all of them, or this block's half into both that share
/// them.
template <class Type, int kTileN>
__device__ __forceinline__ void load_weights(Stage<kTileN>& stage, const Maps& maps, const Cut& cut,
                                             const Role& role, const Walk<kTileN>& at,
                                             ptx::Mbarrier& full) {
  const auto [row, column, batch] = at.place;
  const int k = at.step * kStep<Type>;
  ptx::mbarrier_arrive_expect(full, kStageBytes<kTileN>);
  if (cut.row_blocks > 1)
    load_y_half<Type>(stage, maps.y, role.member, column, k, batch, full, role.both());
  else
    load_y<Type>(stage, maps.y, column, k, batch, full);
}

/// The same of X.
template <class Type, int kTileN>
__device__ __forceinline__ void load_rows(Stage<kTileN>& stage, const Maps& maps, const Cut& cut,
                                          const Role& role, const Walk<kTileN>& at,
                                          ptx::Mbarrier& full) {
  const auto [row, column, batch] = at.place;
  const int k = at.step * kStep<Type>;
  if (cut.blocks > cut.row_blocks) {
    const int first = role.member * kHalf;
    ptx::load_box_multicast(stage.x + first * kSpan, maps.x, k, first, batch, full, role.both());
  } else {
#pragma unroll
    for (int first = 0; first < kTileM; first += kHalf)
      ptx::load_box(stage.x + first * kSpan, maps.x, k, row + first, batch, full);
  }
}

/// Brings in all steps, by one thread: the weights of the first stages while the kernel before
/// still runs, which must not write them, all else after its end.
template <class Type, int kTileN>
__device__ __forceinline__ void produce(Shared<Type, kTileN>& shared, const Maps& maps,
                                        const Cut& cut, const Role& role) {
  constexpr int kStages = Shared<Type, kTileN>::kStages;
  const int turns = (cut.tiles - role.cluster + cut.clusters - 1) / cut.clusters;
  const int all = turns * (role.end - role.begin), ahead = std::min(all, kStages);
  RingPosition<kStages> in;
  Walk<kTileN> at(cut, role), at_x = at;
  for (int s = 0; s < ahead; ++s, at.advance(cut, role))
    load_weights<Type>(shared.stages[s], maps, cut, role, at, shared.full[s]);
  ptx::wait_for_kernel_before();
  for (int s = 0; s < ahead; ++s, at_x.advance(cut, role), in.advance())
    load_rows<Type>(shared.stages[s], maps, cut, role, at_x, shared.full[s]);
  for (int i = ahead; i < all; ++i, at.advance(cut, role), in.advance()) {
    auto& full = shared.full[in.stage];
    auto& stage = shared.stages[in.stage];
    ptx::mbarrier_wait(shared.empty[in.stage], in.parity ^ 1);
    load_weights<Type>(stage, maps, cut, role, at, full);
    load_rows<Type>(stage, maps, cut, role, at, full);
  }
  wait_for_releases(shared.empty, in);
}

/// Leaves a warpgroup's 64 rows where the cluster's other blocks read them.
template <class Type, int kTileN>
__device__ __forceinline__ void leave_sums(Shared<Type, kTileN>& shared,
                                           const typename Type::Accumulator (&d)[kTileN / 2],
                                           int group) {
  struct alignas(8) Pair {
    typename Type::Accumulator first, second;
  };
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    auto* row = shared.sums[64 * group + 16 * (t / 32) + lane / 4 + 8 * half];
#pragma unroll
    for (int j = 0; j < kTileN / 8; ++j)
      *reinterpret_cast<Pair*>(row + 8 * j + 2 * (lane % 4)) = {d[4 * j + 2 * half],
                                                                d[4 * j + 2 * half + 1]};
  }
}

/// Adds up and writes this block's share of the entries of its tile, from its own sums and then the
/// next parts', so that all blocks read from different ones.
template <class Type, int kTileN>
__device__ __forceinline__ void add_up(Shared<Type, kTileN>& shared, const GpuArguments& a,
                                       const Cut& cut, const Role& role) {
  using Accumulator = typename Type::Accumulator;
  using Four = Four<Accumulator>;
  constexpr int kFours = kTileN / 4, kLoads = 8;  // under way
  const Place place = place_of<kTileN>(cut, role, role.cluster);
  const int all = std::min(static_cast<int>(a.m) - place.row, int{kTileM}) * kFours;
  const int next = cut.splits * kConsumerThreads;
  for (int from = role.split * kConsumerThreads + threadIdx.x; from < all; from += kLoads * next) {
    Four sums[kLoads];
    for (int i = 0; i < cut.splits; ++i) {
      const int part = (role.split + i) % cut.splits;
#pragma unroll
      for (int l = 0; l < kLoads; ++l) {
        // The last one again past the end: with conditions, ptxas has four under way.
        const int at = std::min(from + l * next, all - 1);
        sums[l].add(std::bit_cast<Four>(ptx::load_of_rank(
            &shared.sums[at / kFours][at % kFours * 4], part * cut.blocks + role.member)));
      }
    }
#pragma unroll
    for (int l = 0; l < kLoads; ++l) {
      const int at = from + l * next;
      if (at >= all) continue;
      const std::int64_t column = place.column + at % kFours * 4;
      auto* z = static_cast<Accumulator*>(a.z) + place.batch * a.z_stride +
                (place.row + at / kFours) * a.z_pitch + column;
      store_four(z, sums[l], column, a.n);
    }
  }
}

template <class Type, int kTileN>
__global__ void __launch_bounds__(kThreads, 1)
    rows_kernel(const __grid_constant__ Maps maps, GpuArguments a, Cut cut) {
  auto& shared = ptx::dynamic_shared<Shared<Type, kTileN>>();
  ptx::launch_dependents();
  const int t = threadIdx.x;
  if (t == kConsumerThreads) {
    ptx::prefetch_map(maps.y);
    ptx::prefetch_map(maps.x);
    init_ring(shared.full, shared.empty, cut.blocks * kFewConsumers);
  }
  ptx::cluster_meet();  // before another block fills or signals what was just made

  const Role role(cut);
  if (t >= kConsumerThreads) {
    ptx::registers_down_to<40>();
    if (t == kConsumerThreads) produce<Type>(shared, maps, cut, role);
    __syncwarp();
    if (cut.splits > 1) ptx::cluster_sync();
    ptx::cluster_meet();
    return;  // were the branches to meet again, ptxas would not let one have more registers
  }

  ptx::registers_up_to<232>();
  ptx::wait_for_kernel_before();
  const int group = t / kWarpgroup, in_group = t % kWarpgroup;
  RingPosition<Shared<Type, kTileN>::kStages> at;
  for (int tile = role.cluster;; tile += cut.clusters) {
    const Place place = place_of<kTileN>(cut, role, tile);
    // Not in the loop's head: ptxas gives such a loop 178 registers, and spills.
    if (place.batch >= a.batch) break;
    typename Type::Accumulator d[kTileN / 2];
    multiply_steps<Type>(d, shared, at, role.end - role.begin, group, [&](int stage) {
      // The first threads each tell one block.
      if (in_group < cut.blocks)
        ptx::mbarrier_arrive_at(shared.empty[stage], role.first + in_group);
    });
    if (cut.splits == 1) {
      store(d, a, place.row + 64 * group, place.column, place.batch);
    } else {
      ptx::named_barrier(1, kConsumerThreads);  // all of the ring was read
      leave_sums<Type, kTileN>(shared, d, group);
    }
  }
  __syncwarp();
  if (cut.splits > 1) {
    ptx::cluster_sync();  // all blocks' sums are there
    add_up<Type>(shared, a, cut, role);
    __syncwarp();
    ptx::cluster_sync();  // what others read of this block's sums they have read
  } else {
    ptx::cluster_meet();  // shared memory stays until no block fills or signals it any more
  }
}

struct State {
  Maps maps;
  Cut cut;
  int tile_n, columns;  ///< of a tile; from one pass over X
};

/// A way to cut a call and the clocks that it takes.
struct Plan {
  std::int64_t clocks = std::numeric_limits<std::int64_t>::max();
  Cut cut{};
};

// What the plan counts with: bytes a clock of an SM, of an H200.
constexpr int kFromHbm = 20, kFromL2 = 43, kFromShared = 128, kFromNeighbours = 12;
constexpr int kTurnClocks = 3000;  ///< that beginning and storing take

template <class Type, int kTileN>
struct Product {
  static constexpr auto kKernel = rows_kernel<Type, kTileN>;
  static constexpr std::size_t kShared = sizeof(Shared<Type, kTileN>);
  static_assert(kShared <= 227 << 10, "a block's shared memory");

  /// Of a step: wgmma reads two times 64 rows of X and all weights, which TMA has written; not less
  /// than the products take, a quarter more where sums leave after each step (v13 on an H200: 1287
  /// clocks a step of e4m3 in place of 1024). Or what L2 gives.
  static constexpr int step_clocks(int row_blocks, int blocks) {
    constexpr int kX = kTileM * kSpan, kY = kTileN * kSpan;
    constexpr int kProducts = (kPromoted<Type> ? 5 : 4) * kTileN;
    const int from_l2 = kX / (blocks / row_blocks) + kY / row_blocks;
    return std::max({kProducts, (2 * kX + 3 * kY) / kFromShared, from_l2 / kFromL2});
  }

  /// The fastest way with this width of tiles.
  static Plan plan(const GpuArguments& a) {
    allow_shared(kKernel, kShared);  // without, no cluster fits
    const FewLine line = few_line<Type, FewShape<kTileM, kTileN / kPanel / kFewConsumers>>(a);
    const int row_blocks = tiles(a.m, kTileM), sms = cuda::device().sms;
    const std::int64_t from_hbm = a.batch * a.n * a.k * Type::kBytes / (kFromHbm * sms);
    Plan best;
    for (int blocks = row_blocks; blocks <= 2; ++blocks) {
      const int columns = tiles(line.tiles, blocks / row_blocks);
      const int all = columns * static_cast<int>(a.batch);
      for (int splits = 1; splits <= std::min(kMostBlocks / blocks, line.steps); ++splits) {
        const int cluster = blocks * splits;
        const int fit = cluster == 1 ? sms : clusters_that_fit(kKernel, cluster, kThreads, kShared);
        if (fit == 0) continue;
        const std::int64_t turns = tiles(all, fit), steps = tiles(line.steps, splits);
        const std::int64_t busy = turns * steps * step_clocks(row_blocks, blocks);
        const std::int64_t sums = std::min<std::int64_t>(a.m, kTileM) * kTileN * 4;
        const std::int64_t add_up = sums * (splits - 1) / splits / kFromNeighbours;
        // An eighth of what could go on at the same time does not.
        const std::int64_t clocks = std::max(busy, from_hbm) + std::min(busy, from_hbm) / 8 +
                                    turns * (kTurnClocks + add_up);
        if (clocks >= best.clocks) continue;
        const int clusters = splits == 1 ? std::min(fit, all) : all;
        best = {clocks, {columns, all, line.steps, row_blocks, blocks, splits, clusters}};
      }
    }
    return best;
  }
  static std::shared_ptr<void> open(const GpuArguments& a, cuda::Type type, const Cut& cut) {
    return std::make_shared<State>(
        State{make_maps<Type>(a, type, kHalf), cut, kTileN, kColumnsAtOnce<Type, kTileN>});
  }
  static void launch(const GpuArguments& a, cudaStream_t stream) {
    const auto& [maps, cut, tile_n, columns] = *static_cast<const State*>(a.state);
    const FewLaunch launch(cut.clusters * cut.cluster(), cut.cluster(), kShared, stream, kThreads);
    CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, maps, a, cut));
  }
};

template <class Type>
std::shared_ptr<void> open_as(const GpuArguments& a, cuda::Type type) {
  const Plan wide = Product<Type, 256>::plan(a), narrow = Product<Type, 128>::plan(a);
  if (std::max(wide.cut.clusters, narrow.cut.clusters) == 0)
    throw cuda::Unsupported("no cluster of its blocks fits this GPU");
  return wide.clocks <= narrow.clocks ? Product<Type, 256>::open(a, type, wide.cut)
                                      : Product<Type, 128>::open(a, type, narrow.cut);
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  if (types.x == cuda::Type::e4m3) return open_as<E4m3>(a, types.x);
  if (types.x == cuda::Type::s8) return open_as<S8>(a, types.x);
  if (types.x == cuda::Type::f16) return open_as<F16>(a, types.x);
  return open_as<Bf16>(a, types.x);
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  if (static_cast<const State*>(a.state)->tile_n == 256)
    Product<Type, 256>::launch(a, stream);
  else
    Product<Type, 128>::launch(a, stream);
}

GpuTiles tiles_of(const void* state) {
  const auto& [maps, cut, tile_n, columns] = *static_cast<const State*>(state);
  return {.block_m = kTileM,
          .block_n = tile_n,
          .block_k = kSpan / 2,
          .warp_m = kTileM / kFewConsumers,
          .warp_n = columns,
          .cluster_m = cut.row_blocks,
          .cluster_n = cut.blocks / cut.row_blocks};
}

}  // namespace

/// Begins before the kernel just before it in the stream has ended, which must not write the
/// weights (few_rows_wgmma.cuh).
extern const GpuKernel sm90a_rows_cluster = {.exec_unit = "wgmma",
                                             .bf16 = launch<Bf16>,
                                             .f16 = launch<F16>,
                                             .e4m3 = launch<E4m3>,
                                             .s8 = launch<S8>,
                                             .max_m = 2 * kTileM,
                                             .open = open,
                                             .open_each = true,
                                             .begins_early = true,
                                             .tiles_of = tiles_of};

}  // namespace kernels::matmul
