// Idea: few rows: no shared memory for the weights. Each lane reads 16 bytes at a time straight
// into registers, 16 or more loads at a time, which are fragments of mma.sync after a byte_perm;
// the sums of blocks that share columns meet in memory, and the last of them adds them up.
// Bound: the HBM roof, by the weights' bytes; launch time where they are few.
// Gains over splitk: no barrier and next to no address arithmetic a step, up to 128 KB an SM on
// their way; the last block reads its parts at once, and rows that are not there are neither
// written nor read. On an H200, bf16, cold, N = K = 8192: 1.37 times splitk at M = 1 (37.2 us),
// 1.30 at 8, 1.11 at 32, 1.16 at 64; at 4096 and M = 8 1.17; s8 at 8192 and M = 8 1.36. cuBLASLt
// takes 0.95 times as long at M = 1, 0.88 at 8, 0.67 at 32.
// Tried: clusters that add up in shared memory: 1.02 at M = 8, 0.51 at N = K = 4096.
#include <bit>
#include <memory>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/matmul/few_rows.cuh"
#include "kernels/matmul/few_rows_mma.cuh"

namespace kernels::matmul {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int kMostSplits = 8;  ///< whose parts one block reads at the end
constexpr int kPadding = 4;     ///< entries between rows of sums

/// How the work is cut. A block has `column_warps` warps side by side, and the others of its warps
/// take turns with them along K; `splits` blocks share columns and have a part of K each.
struct Split {
  int column_warps, splits, tiles;
  int units;  ///< steps along K of a warp, of all of K
};

struct State {
  Split split;
  cuda::Memory sums, finished;
  double bytes;
};

template <class Type, int kRows>
struct Shared {
  union {
    /// X's rows along a stretch of K, twice: one is read while the next one comes.
    alignas(128) unsigned char x[2][kRows * FewRowsWeights<Type, kRows>::kXPitch];
    /// The warps' sums: [part of K][row][column].
    alignas(16) std::uint32_t sums[kRows * kWarps * (64 + kPadding)];
  };
  bool last;  ///< this block is the last of those that share columns
};

/// Where a block is.
template <class Weights>
struct Place {
  int split, tile, batch, groups, pitch;
  std::int64_t first_column;
  __device__ __forceinline__ explicit Place(const Split& w)
      : split(blockIdx.x % w.splits),
        tile(blockIdx.x / w.splits),
        batch(blockIdx.y),
        groups(kWarps / w.column_warps),
        pitch(columns(w) + kPadding),
        first_column(std::int64_t{tile} * columns(w)) {}
  static __device__ __forceinline__ int columns(const Split& w) {
    return w.column_warps * Weights::kWarpColumns;
  }
};

/// Leaves the block's sums in shared.sums, [part of K][row][column], for all of its threads.
template <class Type, int kRows>
__device__ __forceinline__ void make_sums(const GpuArguments& a, const Split& w,
                                          Shared<Type, kRows>& shared,
                                          const Place<FewRowsWeights<Type, kRows>>& place) {
  using Weights = FewRowsWeights<Type, kRows>;
  using Accumulator = typename Type::Accumulator;
  constexpr int kX = Type::kXBytes, kPitch = Weights::kXPitch;
  constexpr int kUnitBytes = Weights::kUnit * kX;           // of a row of X
  constexpr int kUnits = Weights::kXRowBytes / kUnitBytes;  // of a chunk of X
  constexpr int kRowChunks = Weights::kXRowBytes / 16;
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  const int column_warp = warp % w.column_warps, group = warp / w.column_warps;
  const int first = static_cast<int>(std::int64_t{w.units} * place.split / w.splits);
  const int end = static_cast<int>(std::int64_t{w.units} * (place.split + 1) / w.splits) - first;

  Weights weights(a, place.first_column + column_warp * Weights::kWarpColumns, first, lane,
                  place.batch);

  const auto* x = static_cast<const unsigned char*>(a.x) +
                  (place.batch * a.x_stride + std::int64_t{first} * Weights::kUnit) * kX;
  const std::int64_t x_bytes =
      std::min((a.k - std::int64_t{first} * Weights::kUnit) * kX, std::int64_t{end} * kUnitBytes);
  const auto copy = [&](int chunk) {
    if (chunk * kUnits >= end) return;
    unsigned char* to = shared.x[chunk % 2];
#pragma unroll 1
    for (int i = t; i < kRows * kRowChunks; i += kThreads) {
      const int r = i / kRowChunks, c = i % kRowChunks;
      const std::int64_t at = std::int64_t{chunk} * Weights::kXRowBytes + 16 * c;
      const std::int64_t left = r < a.m ? x_bytes - at : 0;
      const int valid = static_cast<int>(std::clamp<std::int64_t>(left, 0, 16));
      ptx::copy_async_16(to + r * kPitch + 16 * c, x + (valid > 0 ? r * a.x_pitch * kX + at : 0),
                         valid);
    }
    ptx::copy_async_commit();
  };

  Accumulator d[kRows / 8][Weights::kWarpColumns / 16][4] = {};
  const int chunks = (end + kUnits - 1) / kUnits;
  int chunk = -1;
  // Every warp enters every chunk, so that all meet at the same barriers.
  const auto enter = [&](int next) {
    while (chunk < next) {
      ptx::copy_async_wait<0>();
      __syncthreads();  // the chunk is there for all, and the one before it is free
      ++chunk;
      copy(chunk + 1);
    }
  };
  copy(0);
  for (int u = group; u < end; u += Weights::kSlots * place.groups) {
    weights.begin(u, place.groups, end);
#pragma unroll
    for (int s = 0; s < Weights::kSlots; ++s) {
      const int unit = u + s * place.groups;
      if (unit >= end) break;
      enter(unit / kUnits);
      weights.multiply(d, s, unit, shared.x[chunk % 2] + unit % kUnits * kUnitBytes);
    }
  }
  enter(chunks - 1);
  __syncthreads();  // the sums lie where X was
  auto* sums = reinterpret_cast<Accumulator*>(shared.sums);
  weights.put(sums + group * kRows * place.pitch + column_warp * Weights::kWarpColumns, place.pitch,
              d);
}

/// Stores four entries from `column` on, of which some may not be there.
template <class Type>
__device__ __forceinline__ void store(const GpuArguments& a, Four<typename Type::Accumulator> sum,
                                      int batch, std::int64_t row, std::int64_t column) {
  using Accumulator = typename Type::Accumulator;
  if constexpr (Type::kXBytes != Type::kYBytes) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (column + i < a.n) sum.v[i] *= a.scales[batch * a.n + column + i];
  }
  auto* z = static_cast<Accumulator*>(a.z) + batch * a.z_stride + row * a.z_pitch + column;
  store_four(z, sum, column, a.n);
}

/// Of a kernel on an SM.
template <class Type, int kRows>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int kLeastBlocks = 1;  // ptxas is some registers short of two
#else
constexpr int kLeastBlocks = FewRowsWeights<Type, kRows>::kBlocks;
#endif

template <class Type, int kRows>
__global__ void __launch_bounds__(kThreads, kLeastBlocks<Type, kRows>)
    skinny_kernel(GpuArguments a, Split w, Four<typename Type::Accumulator>* sums,
                  unsigned* finished) {
  using Accumulator = typename Type::Accumulator;
  auto& shared = ptx::dynamic_shared<Shared<Type, kRows>>();
  const Place<FewRowsWeights<Type, kRows>> place(w);
  make_sums<Type, kRows>(a, w, shared, place);
  __syncthreads();

  const int t = threadIdx.x, fours = place.columns(w) / 4;
  const int all = static_cast<int>(a.m) * fours;
  const auto* own = reinterpret_cast<const Accumulator*>(shared.sums);
  const std::int64_t tile = std::int64_t{place.batch} * w.tiles + place.tile;
  Four<Accumulator>* parts = sums + tile * w.splits * all;
  for (int i = t; i < all; i += kThreads) {
    const int row = i / fours, column = i % fours * 4;
    Four<Accumulator> sum;
    for (int g = 0; g < place.groups; ++g)
      sum.add(*reinterpret_cast<const Four<Accumulator>*>(own + (g * kRows + row) * place.pitch +
                                                          column));
    if (w.splits == 1)
      store<Type>(a, sum, place.batch, row, place.first_column + column);
    else
      parts[place.split * all + i] = sum;
  }
  if (w.splits == 1) return;
  __threadfence();  // the part is visible before it is counted
  __syncthreads();
  const unsigned most = w.splits - 1;
  if (t == 0) shared.last = atomicInc(finished + tile, most) == most;
  __syncthreads();
  if (!shared.last) return;
  __threadfence();  // and the others' parts are read after they were counted
  for (int i = t; i < all; i += kThreads) {
    Four<Accumulator> sum;
#pragma unroll 8
    for (int s = 0; s < w.splits; ++s) {  // in the same order always
      const uint4 v = __ldcg(reinterpret_cast<const uint4*>(parts + s * all + i));
      sum.add(std::bit_cast<Four<Accumulator>>(v));
    }
    store<Type>(a, sum, place.batch, i / fours, place.first_column + i % fours * 4);
  }
}

/// The cut with the fewest steps of the busiest warp; of those that are as good, the widest, for
/// longer stretches of memory. `fit(s)`: groups of s blocks that the chip runs at one time.
template <class Weights, class Fit>
Split cut(const GpuArguments& a, Fit fit) {
  Split best{};
  best.units = static_cast<int>((a.k + Weights::kUnit - 1) / Weights::kUnit);
  std::int64_t least = 0;
  for (int columns = kWarps; columns >= 1; columns /= 2)
    for (int splits = 1; splits <= kMostSplits; splits *= 2) {
      const int groups = kWarps / columns;
      if (splits > 1 && best.units < splits * groups) continue;
      const std::int64_t width = columns * Weights::kWarpColumns, tiles = (a.n + width - 1) / width;
      const std::int64_t waves = (tiles * a.batch + fit(splits) - 1) / fit(splits);
      const int share = (best.units + splits - 1) / splits;
      const std::int64_t time = waves * ((share + groups - 1) / groups);
      if (least > 0 && time >= least) continue;
      least = time;
      best.column_warps = columns;
      best.splits = splits;
      best.tiles = static_cast<int>(tiles);
    }
  return best;
}

/// The types of weights that this kernel takes.
template <class Function>
auto by_type(const GpuTypes& types, Function f) {
  if (types.x != types.y) return f.template operator()<FewBf16xS8>();
  if (types.y == cuda::Type::e4m3) return f.template operator()<FewE4m3>();
  if (types.y == cuda::Type::s8) return f.template operator()<FewS8>();
  return f.template operator()<FewBf16>();
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return by_type(types, [&]<class Type>() {
    return by_few_rows(a.m, [&]<int kRows>() -> std::shared_ptr<void> {
      constexpr std::size_t kShared = sizeof(Shared<Type, kRows>);
      const int blocks =
          std::min(FewRowsWeights<Type, kRows>::kBlocks, cuda::blocks_that_share(kShared));
      cuda::allow_shared(skinny_kernel<Type, kRows>, kShared, blocks);
      auto state = std::make_shared<State>();
      const Split& w = state->split = cut<FewRowsWeights<Type, kRows>>(
          a, [&](int splits) { return std::max(1, blocks * cuda::device().sms / splits); });
      const std::int64_t tiles = w.tiles * a.batch;
      const std::int64_t bytes =
          tiles * w.splits * a.m * w.column_warps * FewRowsWeights<Type, kRows>::kWarpColumns * 4;
      state->bytes = w.splits > 1 ? static_cast<double>(bytes) : 0;
      state->sums = cuda::allocate(w.splits > 1 ? bytes : 0);
      state->finished = cuda::allocate_zeroed(tiles * sizeof(unsigned));
      return state;
    });
  });
}

template <class Type>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  by_few_rows(a.m, [&]<int kRows>() {
    const dim3 blocks(static_cast<unsigned>(state.split.tiles * state.split.splits),
                      static_cast<unsigned>(a.batch));
    skinny_kernel<Type, kRows><<<blocks, kThreads, sizeof(Shared<Type, kRows>), stream>>>(
        a, state.split, cuda::as<Four<typename Type::Accumulator>>(state.sums),
        cuda::as<unsigned>(state.finished));
    CUDA_CHECK_LAUNCH("skinny matmul");
  });
}

double part_bytes(const void* state) { return static_cast<const State*>(state)->bytes; }

}  // namespace

/// Up to 8 rows of bf16 have tiles of 256 columns. Where Y is [N,K] they are 128 at most, and X's
/// bytes from L2 twice what the tiles say.
extern const GpuKernel sm80_skinny = {
    .exec_unit = "mma",
    .bf16 = launch<FewBf16>,
    .e4m3 = launch<FewE4m3>,
    .s8 = launch<FewS8>,
    .bf16xs8 = launch<FewBf16xS8>,
    .tiles = {.block_m = kFewRows, .block_n = 256, .block_k = 64, .warp_m = 64, .warp_n = 64},
    .max_m = kFewRows,
    .open = open,
    .part_bytes = part_bytes};

}  // namespace kernels::matmul
