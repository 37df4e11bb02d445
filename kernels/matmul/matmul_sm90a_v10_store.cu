// Idea: tiles of Z leave through shared memory by TMA, in whole 128-byte rows, while the warps go
// on to the next tile; every type that wgmma has, and Z in 16 bits by stmatrix.
// Bound: the tensor cores of each type. In e4m3 they keep some 14 bits within 128 products; those
// sums are added up in fp32 on the CUDA cores, for which the tile is 128 columns wide.
// Gains over v9 (expected, not measured yet): no partly used sectors, no address arithmetic and no
// masks in the warps that multiply; 1 to 2 % on public ladders.
#include "kernels/cuda/pairs.cuh"
#include "kernels/matmul/tile_raster.hpp"
#include "kernels/matmul/wgmma_tile.cuh"

namespace kernels::matmul {
namespace {

constexpr int kConsumers = 2, kCluster = 2;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kGroup = 8;  ///< pairs of tiles

/// fp8 products are added up outside the tensor core once a step.
template <class Type>
constexpr bool kPromoted = std::is_same_v<Type, E4m3>;
template <class Type>
constexpr int kTileN = kPromoted<Type> ? 128 : 256;

/// What goes out at one time: 64 rows of 128 bytes, swizzled.
struct OutPanel {
  static constexpr int kRows = 64;
  alignas(1024) unsigned char bytes[kRows * kSpan];
};

/// Panel `p` of a warpgroup's 64 rows, from its registers.
template <class Out, class Scalar, int kRegisters>
__device__ __forceinline__ void fill_panel(OutPanel& panel, const Scalar (&d)[kRegisters], int p) {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  if constexpr (sizeof(Out) == 2) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // 16 columns
      const int from = 32 * p + 8 * j;
      const std::uint32_t pairs[4] = {cuda::pair_of(Out{}, d[from], d[from + 1]),
                                      cuda::pair_of(Out{}, d[from + 2], d[from + 3]),
                                      cuda::pair_of(Out{}, d[from + 4], d[from + 5]),
                                      cuda::pair_of(Out{}, d[from + 6], d[from + 7])};
      const int r = 16 * (t / 32) + lane % 16, byte = 32 * j + 16 * (lane / 16);
      ptx::store_matrix_x4(panel.bytes + ptx::swizzle_128(r * kSpan + byte), pairs);
    }
  } else {
    struct alignas(8) Pair {
      Scalar first, second;
    };
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = 16 * (t / 32) + lane / 4 + 8 * half, c = 8 * j + 2 * (lane % 4);
        const int from = 16 * p + 4 * j + 2 * half;
        *reinterpret_cast<Pair*>(panel.bytes + ptx::swizzle_128(r * kSpan + c * 4)) = {d[from],
                                                                                       d[from + 1]};
      }
  }
}

template <class Type>
struct Shared {
  static constexpr int kStages = kPromoted<Type> ? 6 : 4;
  Stage<kTileN<Type>> stages[kStages];
  OutPanel out[kConsumers][2];  ///< one is written while the other is on its way
  ptx::Mbarrier full[kStages], empty[kStages];
};
static_assert(sizeof(Shared<Bf16>) <= 227 << 10, "a block's shared memory");
static_assert(sizeof(Shared<E4m3>) <= 227 << 10, "a block's shared memory");

struct State {
  Maps maps;
  CUtensorMap z;
  TileGrid pairs;
  int clusters;
};

/// Sends a warpgroup's 64 rows out, panel by panel. `sends`: the one thread that issues the copies.
template <class Out, class Scalar, int kRegisters>
__device__ __forceinline__ void store_by_tma(const Scalar (&d)[kRegisters], OutPanel (&out)[2],
                                             const CUtensorMap& z, int row, int column, int batch,
                                             int barrier, bool sends) {
  constexpr int kColumns = kSpan / static_cast<int>(sizeof(Out));
#pragma unroll
  for (int p = 0; p < 2 * kRegisters / kColumns; ++p) {
    OutPanel& panel = out[p % 2];
    if (sends) ptx::store_wait_read<1>();  // the copy before the last one has read this panel
    ptx::named_barrier(barrier, kWarpgroup);
    fill_panel<Out>(panel, d, p);
    ptx::fence_async_proxy();
    ptx::named_barrier(barrier, kWarpgroup);
    if (sends) {
      ptx::store_box(z, column + p * kColumns, row, batch, panel.bytes);
      ptx::store_commit();
    }
  }
}

template <class Type, class Out>
__global__ void __launch_bounds__(kThreads, 1)
    store_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                 const __grid_constant__ CUtensorMap z, int depth, TileGrid pairs) {
  constexpr int kN = kTileN<Type>, kStages = Shared<Type>::kStages;
  using Accumulator = typename Type::Accumulator;
  auto& shared = ptx::dynamic_shared<Shared<Type>>();
  const int t = threadIdx.x;
  const int rank = static_cast<int>(ptx::cluster_rank());
  if (t == 0) init_ring(shared.full, shared.empty, kCluster * kConsumers);
  ptx::cluster_sync();

  const int first = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  RingPosition<kStages> at;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    if (t == 0)
      for (std::int64_t i = first; i < pairs.count(); i += step) {
        const TileAt pair = tile_at<kGroup>(pairs, i);
        for (int k = 0; k < depth; k += kStep<Type>, at.advance()) {
          auto& full = shared.full[at.stage];
          auto& stage = shared.stages[at.stage];
          ptx::mbarrier_wait_cluster(shared.empty[at.stage], at.parity ^ 1);
          ptx::mbarrier_arrive_expect(full, kStageBytes<kN>);
          load_x(stage, x, (kCluster * pair.m + rank) * kTileM, k, pair.batch, full);
          load_y_half<Type>(stage, y, rank, pair.n * kN, k, pair.batch, full);
        }
      }
    __syncwarp();
  } else {
    ptx::registers_up_to<232>();
    const int group = t / kWarpgroup - 1, in_group = t % kWarpgroup;
    const auto release = [&](int stage) {  // the first two threads each tell one block
      if (in_group < kCluster) ptx::mbarrier_arrive_at(shared.empty[stage], in_group);
    };
    for (std::int64_t i = first; i < pairs.count(); i += step) {
      const TileAt pair = tile_at<kGroup>(pairs, i);
      Accumulator d[kN / 2];
      [[maybe_unused]] Accumulator sums[kPromoted<Type> ? kN / 2 : 1] = {};
      int before = 0;
      for (int k = 0; k < depth; k += kStep<Type>, at.advance()) {
        ptx::mbarrier_wait(shared.full[at.stage], at.parity);
        if constexpr (kPromoted<Type>) {
          multiply<Type, kN>(d, shared.stages[at.stage], group, false);
          ptx::wgmma_wait<0>();
          ptx::pin(d);
          release(at.stage);
#pragma unroll
          for (int r = 0; r < kN / 2; ++r) sums[r] += d[r];
        } else {
          multiply<Type, kN>(d, shared.stages[at.stage], group, k > 0);
          ptx::wgmma_wait<1>();
          if (k > 0) release(before);
          before = at.stage;
        }
      }
      if constexpr (!kPromoted<Type>) {
        ptx::wgmma_wait<0>();
        ptx::pin(d);
        release(before);
      }
      const int row = (kCluster * pair.m + rank) * kTileM + 64 * group;
      const auto send = [&](const Accumulator(&from)[kN / 2]) {
        store_by_tma<Out>(from, shared.out[group], z, row, pair.n * kN, pair.batch, 1 + group,
                          in_group == 0);
      };
      if constexpr (kPromoted<Type>)
        send(sums);
      else
        send(d);
    }
    if (in_group == 0) ptx::store_wait();
    __syncwarp();
  }
  ptx::cluster_sync();  // a block that ended could not be written to or signalled any more
}

template <class Type, class Out = typename Type::Accumulator>
std::shared_ptr<void> open_as(const GpuArguments& a, const GpuTypes& types) {
  constexpr auto kKernel = store_kernel<Type, Out>;
  allow_shared(kKernel, sizeof(Shared<Type>));
  const TileGrid pairs{tiles(a.m, kCluster * kTileM), tiles(a.n, kTileN<Type>),
                       static_cast<int>(a.batch)};
  const int fit = clusters_that_fit(kKernel, kCluster, kThreads, sizeof(Shared<Type>));
  return std::make_shared<State>(State{
      make_maps<Type>(a, types.x),
      cuda::tensor_map({types.z, a.z, a.n, a.m, a.batch, a.z_pitch, a.z_stride}, OutPanel::kRows),
      pairs, static_cast<int>(std::min<std::int64_t>(fit, pairs.count()))});
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  switch (types.x) {
    case cuda::Type::f16:
      return types.z == cuda::Type::f16 ? open_as<F16, __half>(a, types) : open_as<F16>(a, types);
    case cuda::Type::tf32:
      return open_as<Tf32>(a, types);
    case cuda::Type::e4m3:
      return open_as<E4m3>(a, types);
    case cuda::Type::s8:
      return open_as<S8>(a, types);
    default:
      return types.z == cuda::Type::bf16 ? open_as<Bf16, bf16>(a, types) : open_as<Bf16>(a, types);
  }
}

template <class Type, class Out = typename Type::Accumulator>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  ClusterLaunch launch(state.clusters, kCluster, kThreads, sizeof(Shared<Type>), stream);
  constexpr auto kKernel = store_kernel<Type, Out>;
  CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps.x, state.maps.y, state.z,
                                static_cast<int>(a.k), state.pairs));
}

template <class Type>
constexpr GpuTiles kTiles = {.block_m = kTileM,
                             .block_n = kTileN<Type>,
                             .block_k = kStep<Type>,
                             .warp_m = 64,
                             .warp_n = kTileN<Type>,
                             .cluster_m = kCluster};

}  // namespace

extern const GpuKernel sm90a_v10_store = {.exec_unit = "wgmma",
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
