// Idea: few rows on wgmma as in sm90a_skinny, begun while the call before ends too, but K is cut
// over the blocks of a cluster, which add up through distributed shared memory, each a share of the
// entries: no parts in memory, nothing to count.
// Bound: the HBM roof, by the weights' bytes, also where these are few.
// Gains over sm90a_skinny: no trip of parts to L2, which at 64 rows are large. On an H200, bf16,
// cold, M = 64, N = K = 8192: 1.05 times sm90a_skinny (41.9 us) and 1.89 times splitk; at 4096 1.32
// times sm90a_skinny; s8 at 8192 1.14. Up to 32 rows 0.92 to 0.98, as SMs are idle where a GPC has
// no room for one more cluster. cuBLASLt takes 0.87 times as long at M = 64, 0.93 at 8.
// Tried: no early beginning: 0.95 at M = 64; at M = 8, N = K = 4096 0.88.
// Tried: weights straight into registers for mma.sync: 0.98 at M = 8, 0.43 at N = K = 4096.
#include <bit>

#include "kernels/matmul/few_rows_wgmma.cuh"

namespace kernels::matmul {
namespace {

template <int kRows>
using ShapeOf = FewShape<kRows, 2>;

struct Cut {
  FewLine line;
  int splits;  ///< blocks of a cluster
};

template <class Type, class Shape>
struct SharedOf {
  /// A multiple of 32 words and four more: a warp's sums fall into different banks.
  static constexpr int kPitch = Shape::kColumns + 4;
  union {
    FewRing<Shape> ring;
    typename Type::Accumulator
        sums[Shape::kRows * kPitch];  ///< [row][column], when the ring is done
  };
};

template <class Type, class Shape>
__global__ void __launch_bounds__(kFewThreads, 1)
    skinny_cluster_kernel(const __grid_constant__ Maps maps, GpuArguments a, Cut cut) {
  using Accumulator = typename Type::Accumulator;
  using Four = Four<Accumulator>;
  using Shared = SharedOf<Type, Shape>;
  constexpr int kConsumerThreads = kFewConsumers * kWarpgroup, kFours = Shape::kColumns / 4;
  auto& shared = ptx::dynamic_shared<Shared>();
  ptx::launch_dependents();
  init_few_ring(shared.ring, maps);

  const int t = threadIdx.x, splits = cut.splits;
  const int tile = blockIdx.x / splits, split = blockIdx.x % splits;
  const int first = cut.line.steps * split / splits;
  const int end = cut.line.steps * (split + 1) / splits;
  if (t >= kConsumerThreads) {
    if (t == kConsumerThreads) {
      const int begin = tile * cut.line.steps;
      produce_few<Type, Shape>(shared.ring, maps, cut.line, begin + first, begin + end);
    }
    __syncwarp();
  } else {
    const int group = t / kWarpgroup, lane = t % 32;
    RingPosition<FewRing<Shape>::kStages> at;
    FewSums<Type, Shape> d;
    multiply_few<Type, Shape>(d, shared.ring, at, end - first, group);
    ptx::named_barrier(1, kConsumerThreads);  // all of the ring was read
#pragma unroll
    for (int p = 0; p < Shape::kPanels; ++p)
#pragma unroll
      for (int r = 0; r < Shape::kRegisters; ++r) {
        const int row = 8 * (r / 4) + 2 * (lane % 4) + r % 2;
        const int column = (group * Shape::kPanels + p) * kPanel + 16 * (t % kWarpgroup / 32) +
                           lane / 4 + 8 * (r / 2 % 2);
        shared.sums[row * Shared::kPitch + column] = d[p][r];
      }
  }
  ptx::cluster_sync();  // all blocks' sums are there
  ptx::wait_for_kernel_before();

  const int batch = tile / cut.line.tiles;
  const std::int64_t first_column = std::int64_t{tile % cut.line.tiles} * Shape::kColumns;
  const int all = static_cast<int>(a.m) * kFours;
  for (int i = split * kFewThreads + t; i < all; i += splits * kFewThreads) {
    const int row = i / kFours, at = i % kFours * 4;
    Four sum;
#pragma unroll 8
    for (int s = 0; s < splits; ++s)  // in the same order always
      sum.add(std::bit_cast<Four>(ptx::load_of_rank(shared.sums + row * Shared::kPitch + at, s)));
    const std::int64_t column = first_column + at;
    auto* z = static_cast<Accumulator*>(a.z) + batch * a.z_stride + row * a.z_pitch + column;
    store_four(z, sum, column, a.n);
  }
  ptx::cluster_sync();  // shared memory stays until all have read it
}

struct State {
  Maps maps;
  Cut cut;
};

template <class Type, class Shape>
struct Product {
  static constexpr auto kKernel = skinny_cluster_kernel<Type, Shape>;
  static constexpr std::size_t kShared = sizeof(SharedOf<Type, Shape>);
  static constexpr int kMostSplits = 8;  ///< blocks of a cluster on any chip
  static constexpr int kTurnSteps = 3;   ///< that starting and adding up take, in steps
  static_assert(kShared <= 227 << 10, "a block's shared memory");

  /// The fastest cut; of those that are as fast, the one with the fewest blocks.
  static Cut cut(const GpuArguments& a) {
    Cut best{few_line<Type, Shape>(a), 1};
    const std::int64_t all = best.line.tiles * a.batch;
    std::int64_t least = 0;
    for (int splits = 1; splits <= std::min(kMostSplits, best.line.steps); ++splits) {
      const int fit = splits == 1 ? cuda::device().sms
                                  : clusters_that_fit(kKernel, splits, kFewThreads, kShared);
      const int clusters = std::max(fit, 1);
      const std::int64_t turns = (all + clusters - 1) / clusters;
      const std::int64_t time = turns * ((best.line.steps + splits - 1) / splits + kTurnSteps);
      if (least > 0 && time >= least) continue;
      least = time;
      best.splits = splits;
    }
    return best;
  }
  static std::shared_ptr<void> open(const GpuArguments& a, cuda::Type type) {
    allow_shared(kKernel, kShared);
    return std::make_shared<State>(
        State{make_maps<Type>(a, type, Shape::kRows, kFewBoxRows<Type, Shape>), cut(a)});
  }
  static void launch(const GpuArguments& a, cudaStream_t stream) {
    const auto& state = *static_cast<const State*>(a.state);
    const int splits = state.cut.splits;
    const int blocks = state.cut.line.tiles * splits * static_cast<int>(a.batch);
    const FewLaunch launch(blocks, splits, kShared, stream);
    CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps, a, state.cut));
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return by_few_wgmma_type(types.x, [&]<class Type>() {
    return by_few_rows(
        a.m, [&]<int kRows>() { return Product<Type, ShapeOf<kRows>>::open(a, types.x); });
  });
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  by_few_rows(a.m, [&]<int kRows>() { Product<Type, ShapeOf<kRows>>::launch(a, stream); });
}

}  // namespace

/// Begins before the kernel just before it in the stream has ended, which must not write the
/// weights (few_rows_wgmma.cuh).
extern const GpuKernel sm90a_skinny_cluster = {.exec_unit = "wgmma",
                                               .bf16 = launch<Bf16Y>,
                                               .f16 = launch<F16Y>,
                                               .e4m3 = launch<E4m3>,
                                               .s8 = launch<S8>,
                                               .tiles = kFewWgmmaTiles,
                                               .max_m = kFewRows,
                                               .open = open,
                                               .open_each = true,
                                               .begins_early = true};

}  // namespace kernels::matmul
