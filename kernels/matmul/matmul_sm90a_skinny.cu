// Idea: few rows: the weights go from TMA's ring straight into wgmma as its operand of 64 rows, X's
// rows are the other's columns. The steps of all tiles lie on a line, cut into equal shares, one a
// block; those that have a part of a tile leave it in memory, and the last of them to come adds the
// parts up. A call begins while the one before ends: an SM that has left its part streams the next
// call's weights at once.
// Bound: the HBM roof, by the weights' bytes, also where these are few.
// Gains over splitk: no work a weight in any thread's registers, a ring of 216 KB, and launch,
// first loads and the parts' trip to L2 lie under the neighbouring call's stream. On an H200, bf16,
// cold, N = K = 8192: 1.49 times splitk at M = 1 (34.3 us), 1.48 at 8, 1.54 at 32, 1.80 at 64; at
// 4096 and M = 8 1.42; s8 at 8192 and M = 8 1.67. cuBLASLt takes 1.03 times as long at M = 1, 1.01
// at 8, 0.92 at 32, 0.84 at 64.
// Tried: no early beginning: 0.88 at M = 8; so have clusters without one.
// Tried: tiles of 256 columns up to 16 rows: 0.98 at M = 8, 1.02 at N = K = 4096.
// Tried: tiles of 512 columns above 32 rows: 0.66 at M = 64.
// Tried: a TMA ring for every warp and mma.sync: 0.85 at M = 8, 0.83 at 32.
// Tried: the same in half an SM, beside the next call's blocks: 0.42 at M = 1.
#include <bit>

#include "kernels/cuda/memory.hpp"
#include "kernels/matmul/few_rows_wgmma.cuh"

namespace kernels::matmul {
namespace {

/// Tiles of 128 columns up to 16 rows: the last block of a tile reads half as many parts.
template <int kRows>
using ShapeOf = FewShape<kRows, kRows <= 16 ? 1 : 2>;

/// The first `more` blocks have a step more than the others.
struct Shares {
  FewLine line;
  int blocks, each, more;
  KERNELS_HD constexpr int begin(int block) const { return block * each + std::min(block, more); }
  KERNELS_HD constexpr int block_of(int step) const {
    const int longer = more * (each + 1);
    return step < longer ? step / (each + 1) : more + (step - longer) / each;
  }
  /// Of all tiles, parts that are left in memory.
  constexpr int parts_left() const {
    int count = 0;
    for (int b = 0; b < blocks; ++b) {
      const int from = begin(b), to = begin(b + 1);
      const bool one_tile = from / line.steps == (to - 1) / line.steps;
      count +=
          one_tile ? to - from < line.steps : (from % line.steps != 0) + (to % line.steps != 0);
    }
    return count;
  }
};

/// A warpgroup's part, as [register / 4][thread][4].
template <class Type, class Shape>
struct Part {
  static constexpr int kFours = Shape::kPanels * Shape::kRows / 8;
  Four<typename Type::Accumulator> fours[kFours][kWarpgroup];
};

/// Makes d the sums of tile `tile` of the line where this block is the last of those that make it;
/// else leaves them this block's part and returns false. A block has at most two parts: one of a
/// tile that another block began, and one of a tile that it begins itself.
template <class Type, class Shape>
__device__ __forceinline__ bool sum_of_parts(FewSums<Type, Shape>& d, const Shares& shares,
                                             int tile, Part<Type, Shape>* parts, unsigned* finished,
                                             int group, bool& last) {
  using Four = Four<typename Type::Accumulator>;
  constexpr int kPanelFours = Shape::kRows / 8, kFours = Part<Type, Shape>::kFours;
  constexpr int kLoads = kFours <= 16 ? kFours : 8;    // of a part; more would spill
  constexpr int kParallel = std::max(1, 16 / kFours);  // parts whose loads are under way
  const int t = threadIdx.x % kWarpgroup, block = blockIdx.x, barrier = 1 + group;
  const int first = shares.block_of(tile * shares.line.steps);
  const int count = shares.block_of((tile + 1) * shares.line.steps - 1) - first + 1;
  if (count == 1) return true;
  const auto part = [&](int b) -> Part<Type, Shape>& {
    return parts[(2 * b + (b == first)) * kFewConsumers + group];
  };
#pragma unroll
  for (int i = 0; i < kFours; ++i) {
    const auto& from = d[i / kPanelFours];
    const int r = 4 * (i % kPanelFours);
    part(block).fours[i][t] = Four{from[r], from[r + 1], from[r + 2], from[r + 3]};
  }
  // All threads' stores come before the fence of the one that counts, and all loads after it.
  ptx::named_barrier(barrier, kWarpgroup);
  if (t == 0) {
    const unsigned most = count - 1;
    __threadfence();
    last = atomicInc(finished + tile * kFewConsumers + group, most) == most;
    __threadfence();
  }
  ptx::named_barrier(barrier, kWarpgroup);
  if (!last) return false;
#pragma unroll
  for (int i = 0; i < Shape::kPanels * Shape::kRegisters; ++i)
    d[i / Shape::kRegisters][i % Shape::kRegisters] = 0;
#pragma unroll
  for (int from = 0; from < kFours; from += kLoads) {
#pragma unroll kParallel
    for (int p = 0; p < count; ++p)  // in the same order always
#pragma unroll
      for (int i = from; i < from + kLoads; ++i) {
        const Four four = std::bit_cast<Four>(
            __ldcg(reinterpret_cast<const uint4*>(&part(first + p).fours[i][t])));
#pragma unroll
        for (int c = 0; c < 4; ++c) d[i / kPanelFours][4 * (i % kPanelFours) + c] += four.v[c];
      }
  }
  return true;
}

/// Writes a warpgroup's columns: 32 contiguous bytes from every eight lanes.
template <class Type, class Shape>
__device__ __forceinline__ void store_columns(const FewSums<Type, Shape>& d, const GpuArguments& a,
                                              std::int64_t first_column, int batch) {
  using Accumulator = typename Type::Accumulator;
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  auto* z = static_cast<Accumulator*>(a.z) + batch * a.z_stride;
#pragma unroll
  for (int p = 0; p < Shape::kPanels; ++p)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t column = first_column + p * kPanel + 16 * (t / 32) + lane / 4 + 8 * half;
      if (column >= a.n) continue;
#pragma unroll
      for (int j = 0; j < Shape::kRows / 4; ++j) {
        const std::int64_t row = 8 * (j / 2) + 2 * (lane % 4) + j % 2;
        if (row < a.m) z[row * a.z_pitch + column] = d[p][j / 2 * 4 + 2 * half + j % 2];
      }
    }
}

template <class Shape>
struct Shared {
  FewRing<Shape> ring;
  bool last[kFewConsumers];  ///< this block is the last of a tile's to come
};

template <class Type, class Shape>
__global__ void __launch_bounds__(kFewThreads, 1)
    skinny_kernel(const __grid_constant__ Maps maps, GpuArguments a, Shares shares,
                  Part<Type, Shape>* parts, unsigned* finished) {
  auto& shared = ptx::dynamic_shared<Shared<Shape>>();
  ptx::launch_dependents();
  init_few_ring(shared.ring, maps);

  const int t = threadIdx.x, steps = shares.line.steps;
  const int begin = shares.begin(blockIdx.x), end = shares.begin(blockIdx.x + 1);
  if (t >= kFewConsumers * kWarpgroup) {
    if (t == kFewConsumers * kWarpgroup)
      produce_few<Type, Shape>(shared.ring, maps, shares.line, begin, end);
    return;
  }
  ptx::wait_for_kernel_before();
  const int group = t / kWarpgroup;
  RingPosition<FewRing<Shape>::kStages> in;
  for (int at = begin; at < end;) {
    const int tile = at / steps, piece = std::min(end, (tile + 1) * steps) - at;
    at += piece;
    FewSums<Type, Shape> d;
    multiply_few<Type, Shape>(d, shared.ring, in, piece, group);
    if (!sum_of_parts<Type, Shape>(d, shares, tile, parts, finished, group, shared.last[group]))
      continue;
    const std::int64_t column =
        std::int64_t{tile % shares.line.tiles} * Shape::kColumns + group * Shape::kPanels * kPanel;
    store_columns<Type, Shape>(d, a, column, tile / shares.line.tiles);
  }
}

struct State {
  Maps maps;
  Shares shares;
  double bytes;  ///< of the parts of a call
  cuda::Memory parts, finished;
};

template <class Type, class Shape>
struct Product {
  static constexpr auto kKernel = skinny_kernel<Type, Shape>;
  static constexpr std::size_t kShared = sizeof(Shared<Shape>);
  static constexpr std::size_t kPart = kFewConsumers * sizeof(Part<Type, Shape>);
  static constexpr int kMostParts = 8;   ///< of a tile, that its last block reads
  static constexpr int kLeastSteps = 2;  ///< of a part
  static_assert(kShared <= 227 << 10, "a block's shared memory");

  /// The smallest shares, and of the blocks that have such the fewest; or shares of one tile each
  /// where they are no more than a sixteenth larger.
  static Shares cut(const GpuArguments& a) {
    const FewLine line = few_line<Type, Shape>(a);
    const int sms = cuda::device().sms, all = line.tiles * static_cast<int>(a.batch);
    const int parts = std::clamp(line.steps / kLeastSteps, 1, kMostParts);
    const auto most = static_cast<int>(std::min<std::int64_t>(sms, std::int64_t{all} * parts));
    const auto longest = [&](int blocks) { return (all * line.steps + blocks - 1) / blocks; };
    const int least = longest(most), inside = most / all * all, total = all * line.steps;
    int blocks = longest(least);  // as many as shares of that length take
    if (inside > 0 && longest(inside) <= least + least / 16) blocks = inside;
    return {line, blocks, total / blocks, total % blocks};
  }
  static std::shared_ptr<void> open(const GpuArguments& a, cuda::Type type) {
    allow_shared(kKernel, kShared);
    const Shares shares = cut(a);
    const int tiles = shares.line.tiles * static_cast<int>(a.batch);
    const int left = shares.parts_left();
    const Maps maps = make_maps<Type>(a, type, Shape::kRows, kFewBoxRows<Type, Shape>);
    // Calls come one after the other: with memory of its own each copy's parts would be cold.
    if (const auto* first = static_cast<const State*>(a.state))
      return std::make_shared<State>(
          State{maps, shares, first->bytes, first->parts, first->finished});
    return std::make_shared<State>(
        State{maps, shares, static_cast<double>(left * kPart),
              cuda::allocate(left > 0 ? 2 * shares.blocks * kPart : 0),
              cuda::allocate_zeroed(std::size_t{kFewConsumers} * tiles * sizeof(unsigned))});
  }
  static void launch(const GpuArguments& a, cudaStream_t stream) {
    const auto& state = *static_cast<const State*>(a.state);
    const FewLaunch launch(state.shares.blocks, 1, kShared, stream);
    CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kKernel, state.maps, a, state.shares,
                                  cuda::as<Part<Type, Shape>>(state.parts),
                                  cuda::as<unsigned>(state.finished)));
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

double part_bytes(const void* state) { return static_cast<const State*>(state)->bytes; }

}  // namespace

/// Begins before the kernel just before it in the stream has ended, which must not write the
/// weights (few_rows_wgmma.cuh). Up to 16 rows tiles have 128 columns, and X's bytes from L2, an
/// eighth of the weights' at most, are twice what kFewWgmmaTiles says.
extern const GpuKernel sm90a_skinny = {.exec_unit = "wgmma",
                                       .bf16 = launch<Bf16Y>,
                                       .f16 = launch<F16Y>,
                                       .e4m3 = launch<E4m3>,
                                       .s8 = launch<S8>,
                                       .tiles = kFewWgmmaTiles,
                                       .max_m = kFewRows,
                                       .open = open,
                                       .open_each = true,
                                       .begins_early = true,
                                       .part_bytes = part_bytes};

}  // namespace kernels::matmul
