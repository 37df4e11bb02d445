// Idea: v8 with tiles as large as the registers hold, 96 x 64 entries a warp and 192 x 256 a block.
// Y's fragments come half a step ahead of their products, X's 16 rows, also across the barrier.
// Blocks take tiles in an order for L2.
// Bound: the mma.sync roof. Of what that takes on Hopper, six cycles an m16n8k16 and tensor core,
// shared memory is read for 0.56 and written for 0.19 (v8 1.00 and 0.33), and L2 gives 25 bytes a
// cycle and SM (v8 asks for 43, it has some 40).
// Gains over v8: predicted 0.82 of the roof at 8192 cubed, 0.73 at 4096 (1.7 times v8): 0.90 within
// a tile, 0.94 and 0.86 as waves of blocks are whole, 0.97 and 0.95 for where a tile begins and
// ends. Has not run.
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/mma_tile.hpp"
#include "kernels/matmul/mma_warp.cuh"
#include "kernels/matmul/tile_raster.hpp"

namespace kernels::matmul {
namespace {

namespace ptx = kernels::cuda::ptx;

constexpr int kBlockM = 192, kBlockN = 256;  ///< of Z
constexpr int kWarpM = 96, kWarpN = 64;      ///< 2 x 4 warps
constexpr int kWarpsAcross = kBlockN / kWarpN;
constexpr int kThreads = kBlockM / kWarpM * kWarpsAcross * 32;
constexpr int kStepBytes = 64;  ///< of K: two instructions deep in every type
constexpr int kStages = 3;
constexpr int kCopyParts = 3;  ///< in which a step is brought, each behind 16 rows of products
constexpr int kGroup = 8;      ///< rows of tiles that blocks go down together

/// Of Y as [K,N] in 16 bits: 32 of K by 128 columns, in rows of 256 bytes.
constexpr int kPanelColumns = 128, kPanelBytes = 32 * 256;

struct Stage {
  alignas(1024) unsigned char x[kBlockM * kStepBytes];  ///< [M][64 B of K]
  alignas(1024) unsigned char y[kBlockN * kStepBytes];  ///< [N][64 B of K], or two panels
};
struct Shared {
  Stage stages[kStages];
};
static_assert(sizeof(Shared) <= 99 << 10, "what sm_86, sm_89 and sm_120 give a block");

/// What a thread brings of each step, 16 bytes at a time: of X four threads a row, so every 64th;
/// of Y as [N,K] the same of columns, as [K,N] a warp a row, so every eighth.
template <class Type>
class Copies {
 public:
  static constexpr bool kTransposed = Type::kBytes != 2;  ///< Y is [N,K]
  static constexpr int kStep = kStepBytes / Type::kBytes;
  static constexpr int kXCopies = kBlockM * 4 / kThreads,
                       kCopies = kXCopies + kBlockN * 4 / kThreads;

  __device__ __forceinline__ Copies(const GpuArguments& a, const TileAt& tile) {
    const int t = threadIdx.x, row = t / 4, chunk = t % 4;
    const std::int64_t first_row = std::int64_t{tile.m} * kBlockM + row;
    const std::int64_t first_column = std::int64_t{tile.n} * kBlockN;
    rows_ = there(a.m - first_row, kBlockM);
    x_to_ = at_64(row, chunk);
    from_x_ = static_cast<const unsigned char*>(a.x) +
              (tile.batch * a.x_stride + first_row * a.x_pitch) * Type::kBytes + chunk * 16;
    const auto* y = static_cast<const unsigned char*>(a.y) + tile.batch * a.y_stride * Type::kBytes;
    if constexpr (kTransposed) {
      columns_ = there(a.n - first_column - row, kBlockN);
      y_to_ = x_to_;
      from_y_ = y + (first_column + row) * a.y_pitch * Type::kBytes + chunk * 16;
    } else {
      constexpr int kChunk = 16 / Type::kBytes;
      const int k = t / 32, column = t % 32 * kChunk;
      columns_ = there((a.n - first_column - column) * Type::kBytes, 16);
      y_to_ = column / kPanelColumns * kPanelBytes + at_256(k, column % kPanelColumns / kChunk);
      from_y_ = y + (k * a.y_pitch + first_column + column) * Type::kBytes;
    }
  }

  /// Starts copies [first, end) of the next step, of which `left` of K are there; the last ones end
  /// it. Where all of K is there, rows of X and columns of Y that are not keep what was in their
  /// places: it reaches sums alone that are not stored.
  __device__ __forceinline__ void start(const GpuArguments& a, Stage& stage, int left, int first,
                                        int end) {
    if (left >= kStep)
      each(a, stage, first, end, [&](unsigned char* to, const unsigned char* from, bool in, int) {
        if (in) ptx::copy_async_16(to, from);
      });
    else if (left > 0)
      each(a, stage, first, end,
           [&](unsigned char* to, const unsigned char* from, bool in, int first_k) {
             const bool whole = first_k >= 0;  // of [K,N], a row or none
             const int begin = static_cast<int>(threadIdx.x) % 4 * 16;
             const int bytes =
                 whole ? (first_k < left ? columns_ : 0) : there(left * Type::kBytes - begin, 16);
             ptx::copy_async_16(to, from, in ? bytes : 0);
           });
    if (end < kCopies) return;
    from_x_ += kStepBytes;
    from_y_ += kTransposed ? kStepBytes : kStep * a.y_pitch * Type::kBytes;
    ptx::copy_async_commit();  // an empty group too, so that the count of groups stays right
  }

 private:
  /// copy(to, from, whether its row of X or column of Y is there, k of a row of Y or -1)
  template <class Copy>
  __device__ __forceinline__ void each(const GpuArguments& a, Stage& stage, int first, int end,
                                       Copy copy) {
#pragma unroll
    for (int c = first; c < end; ++c) {
      if (c < kXCopies) {
        const int row = c * kRowsApart;
        copy(stage.x + x_to_ + row * kStepBytes, from_x_ + row * a.x_pitch * Type::kBytes,
             row < rows_, -1);
      } else if constexpr (kTransposed) {
        const int column = (c - kXCopies) * kRowsApart;
        copy(stage.y + y_to_ + column * kStepBytes, from_y_ + column * a.y_pitch * Type::kBytes,
             column < columns_, -1);
      } else {
        const int k = (c - kXCopies) * (kThreads / 32);
        copy(stage.y + y_to_ + k * 256, from_y_ + k * a.y_pitch * Type::kBytes, columns_ > 0,
             threadIdx.x / 32 + k);
      }
    }
  }

  static constexpr int kRowsApart = kThreads / 4;
  static __device__ __forceinline__ int there(std::int64_t n, int most) {
    return static_cast<int>(n < 0 ? 0 : n < most ? n : most);
  }
  const unsigned char *from_x_, *from_y_;
  int x_to_, y_to_;  ///< in a stage
  int rows_;         ///< of X, from its first
  int columns_;      ///< of Y, from its first; as [K,N] bytes of its chunk
};

/// Where a lane's first fragments start in a stage; the others are a fixed way off.
template <bool kTransposed>
struct Fragments {
  int x, y;
  __device__ __forceinline__ Fragments(int warp, int lane) {
    const int column = warp % kWarpsAcross * kWarpN;
    x = x_fragment_row(lane, warp / kWarpsAcross * kWarpM, 0);
    y = kTransposed ? y_fragment_row_nk(lane, column, 0)
                    : column / kPanelColumns * kPanelBytes +
                          y_fragment_row_kn(lane, column % kPanelColumns, 0);
  }
  /// Rows 16 i …; `half` moves on by two chunks, which are the swizzle's second bit.
  __device__ __forceinline__ void load_x(std::uint32_t (&r)[4], std::uint32_t stage_x, int i,
                                         int half) const {
    ptx::load_matrix_x4(r, ((stage_x + x) ^ (half << 5)) + i * 16 * kStepBytes);
  }
  /// Columns 16 j ….
  __device__ __forceinline__ void load_y(std::uint32_t (&r)[4], std::uint32_t stage_y, int j,
                                         int half) const {
    if constexpr (kTransposed)
      ptx::load_matrix_x4(r, ((stage_y + y) ^ (half << 5)) + j * 16 * kStepBytes);
    else
      ptx::load_matrix_x4_transposed(r, ((stage_y + y) ^ (j << 5)) + half * 16 * 256);
  }
};

template <class Type, class Out>
__global__ void __launch_bounds__(kThreads, 1) wide_kernel(GpuArguments a, TileGrid grid) {
  using From = Copies<Type>;
  constexpr int kRowTiles = kWarpM / 16, kColumnPairs = kWarpN / 16;
  static_assert(kRowTiles % 2 == 0 && kRowTiles >= kColumnPairs);
  auto& shared = ptx::dynamic_shared<Shared>();
  const TileAt tile = tile_at<kGroup>(grid, blockIdx.x);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  From copies(a, tile);
#pragma unroll
  for (int s = 0; s < kStages - 1; ++s)
    copies.start(a, shared.stages[s], static_cast<int>(a.k) - s * From::kStep, 0, From::kCopies);
  ptx::copy_async_wait<kStages - 2>();
  __syncthreads();

  const Fragments<From::kTransposed> fragments(warp, lane);
  std::uint32_t xf[2][4], yf[2][kColumnPairs][4];
  typename Type::Accumulator d[kRowTiles][2 * kColumnPairs][4] = {};
  const auto load_x = [&](int to, const Stage& from, int i, int half) {
    fragments.load_x(xf[to], ptx::shared_address(from.x), i, half);
  };
  const auto load_y = [&](const Stage& from, int j, int half) {
    fragments.load_y(yf[half][j], ptx::shared_address(from.y), j, half);
  };
  load_x(0, shared.stages[0], 0, 0);
#pragma unroll
  for (int j = 0; j < kColumnPairs; ++j) load_y(shared.stages[0], j, 0);

  // Instructions of half a step, 32 bytes of K, while what the next half begins with is read.
  const auto multiply = [&](int half, const Stage& here, const Stage& next, auto between) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
      if (i + 1 < kRowTiles)
        load_x((i + 1) % 2, here, i + 1, half);
      else
        load_x(0, next, 0, 1 - half);
      if (i < kColumnPairs) load_y(next, i, 1 - half);
#pragma unroll
      for (int j = 0; j < 2 * kColumnPairs; ++j) {
        const auto& y = yf[half][j / 2];
        const std::uint32_t b[2] = {y[j % 2 * 2], y[j % 2 * 2 + 1]};
        Type::mma(d[i][j], xf[i % 2], b);
      }
      between(i);
    }
  };
  int stage = 0;
#pragma unroll 1
  for (int left = static_cast<int>(a.k); left > 0; left -= From::kStep) {
    const Stage& here = shared.stages[stage];
    multiply(0, here, here, [](int) {});
    ptx::copy_async_wait<0>();
    __syncthreads();  // the next stage is there for all, and the one before this is free
    stage = (stage + 1) % kStages;
    multiply(1, here, shared.stages[stage], [&](int i) {  // a few copies behind each 16 rows
      if (i < kCopyParts)
        copies.start(a, shared.stages[(stage + 1) % kStages], left - (kStages - 1) * From::kStep,
                     From::kCopies * i / kCopyParts, From::kCopies * (i + 1) / kCopyParts);
    });
  }
  std::uint32_t index = blockIdx.x, thread = threadIdx.x;  // or they wait in registers
  ptx::compute_here(index);
  ptx::compute_here(thread);
  const TileAt at = tile_at<kGroup>(grid, static_cast<int>(index));
  const int w = static_cast<int>(thread) / 32;
  mma::store_sums<Out>(a, d, std::int64_t{at.m} * kBlockM + w / kWarpsAcross * kWarpM,
                       std::int64_t{at.n} * kBlockN + w % kWarpsAcross * kWarpN, at.batch);
}

template <class Type, class Out = typename Type::Accumulator>
void launch(const GpuArguments& a, cudaStream_t stream) {
  const TileGrid grid{tiles(a.m, kBlockM), tiles(a.n, kBlockN), static_cast<int>(a.batch)};
  wide_kernel<Type, Out><<<grid.count(), kThreads, sizeof(Shared), stream>>>(a, grid);
  CUDA_CHECK_LAUNCH("mma matmul of wide tiles");
}

std::shared_ptr<void> open(const GpuArguments&, const GpuTypes&) {
  const auto allow = [](auto... kernels) { (cuda::allow_shared(kernels, sizeof(Shared)), ...); };
  allow(wide_kernel<mma::Bf16, float>, wide_kernel<mma::Bf16, bf16>, wide_kernel<mma::F16, float>,
        wide_kernel<mma::F16, __half>, wide_kernel<mma::Tf32, float>, wide_kernel<mma::S8, int>);
  return nullptr;
}

}  // namespace

extern const GpuKernel sm80_mma_wide = {.exec_unit = "mma",
                                        .bf16 = launch<mma::Bf16>,
                                        .f16 = launch<mma::F16>,
                                        .bf16_out = launch<mma::Bf16, bf16>,
                                        .f16_out = launch<mma::F16, __half>,
                                        .tf32_pre = launch<mma::Tf32>,
                                        .s8 = launch<mma::S8>,
                                        .tiles = {.block_m = kBlockM,
                                                  .block_n = kBlockN,
                                                  .block_k = kStepBytes,
                                                  .warp_m = kWarpM,
                                                  .warp_n = kWarpN},
                                        .open = open};

}  // namespace kernels::matmul
