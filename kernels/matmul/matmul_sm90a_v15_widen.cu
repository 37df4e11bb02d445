// Idea: bf16 activations times int8 weights: wgmma takes its first operand from registers, so that
// the transposed product Z^T = Y^T . X^T lets a warp widen weights on their way to it.
// Bound: the bf16 tensor cores at large M, with a third of the issue slots spent on widening; half
// of bf16's weight bytes where HBM binds.
// Gains over v14 in bf16: half of the weights' bytes: on an H200, N = K = 8192, 1.22 at M = 128
// (42.6 us); 0.93 at 256 and 0.75 at 512, as widening takes part of the time of the products.
#include "kernels/cuda/widen.cuh"
#include "kernels/matmul/stream_k_parts.cuh"
#include "kernels/matmul/tile_raster.hpp"

namespace kernels::matmul {
namespace {

constexpr int kColumns = 128;  ///< of Z, 64 for each of two warpgroups
constexpr int kRows = 128;     ///< of Z: the N of wgmma
constexpr int kDepth = 128;    ///< of K: one span of weights, two of X
constexpr int kStages = 4, kConsumers = 2;
constexpr int kThreads = (1 + kConsumers) * kWarpgroup;
constexpr int kGroup = 16;                  ///< rows of tiles
constexpr int kInstructions = kDepth / 16;  ///< a step
/// That a part takes, in steps: 64 KB at 64 B a clock, and 128 x 128 x 128 products at 2048 a
/// clock.
constexpr int kPartSteps = 1;

struct WideStage {
  alignas(1024) unsigned char y[kColumns * kSpan];  ///< [N][128 of K]
  alignas(1024) unsigned char x[2][kRows * kSpan];  ///< [M][64 of K] each
};

struct Shared {
  WideStage stages[kStages];
  ptx::Mbarrier full[kStages], empty[kStages];
  bool last[kConsumers];  ///< this block is the last of a tile's to come
};
static_assert(sizeof(Shared) <= 227 << 10, "a block's shared memory");

struct State {
  Maps maps;
  TileGrid grid;
  StreamKState parts;
};

using Sums = Part<float, kRows / 2>;

/// The weights of a warpgroup's 64 columns, 16 of K from 16 * i on, as wgmma has them in registers.
__device__ __forceinline__ void load_weights(std::uint32_t (&a)[4], const unsigned char* y, int i) {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = 16 * (t / 32) + lane / 4 + 8 * (r % 2);
    const int k = 16 * i + 2 * (lane % 4) + 8 * (r / 2);
    a[r] = cuda::widen_low(
        *reinterpret_cast<const std::uint16_t*>(y + ptx::swizzle_128(row * kSpan + k)));
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    widen_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y,
                 GpuArguments a, TileGrid grid, StreamK work, Sums* sums, unsigned* finished) {
  auto& shared = ptx::dynamic_shared<Shared>();
  const int t = threadIdx.x;
  if (t == 0) init_ring(shared.full, shared.empty, kConsumers);
  __syncthreads();

  RingPosition<kStages> at;
  Pieces pieces(work, blockIdx.x);
  Piece piece;
  if (t < kWarpgroup) {  // the producer
    ptx::registers_down_to<40>();
    if (t != 0) return;
    while (pieces.next(work, piece)) {
      const TileAt tile = tile_at<kGroup>(grid, piece.tile);
      for (int s = piece.first; s < piece.end; ++s, at.advance()) {
        const int k = s * kDepth;
        auto& full = shared.full[at.stage];
        auto& stage = shared.stages[at.stage];
        ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
        ptx::mbarrier_arrive_expect(full, sizeof(WideStage));
        ptx::load_box(stage.y, y, k, tile.n * kColumns, tile.batch, full);
#pragma unroll
        for (int half = 0; half < 2; ++half)
          ptx::load_box(stage.x[half], x, k + half * kDepth / 2, tile.m * kRows, tile.batch, full);
      }
    }
    return;
  }

  ptx::registers_up_to<232>();
  const int group = t / kWarpgroup - 1, lane = t % 32;
  while (pieces.next(work, piece)) {
    float d[kRows / 2];
    for (int step = piece.first; step < piece.end; ++step, at.advance()) {
      const auto& stage = shared.stages[at.stage];
      ptx::mbarrier_wait(shared.full[at.stage], at.parity);
      // The other warpgroup multiplies meanwhile.
      std::uint32_t weights[kInstructions][4];
#pragma unroll
      for (int s = 0; s < kInstructions; ++s)
        load_weights(weights[s], stage.y + group * 64 * kSpan, s);
      ptx::pin(weights);
      ptx::pin(d);
      ptx::wgmma_fence();
#pragma unroll
      for (int s = 0; s < kInstructions; ++s) {
        const auto part = ptx::shared_address(stage.x[s * 16 / (kDepth / 2)]);
        ptx::wgmma_bf16_a_registers(d, weights[s], ptx::descriptor_k_major_128(part) + s % 4 * 2,
                                    step > piece.first || s > 0);
      }
      ptx::wgmma_commit();
      ptx::wgmma_wait<0>();
      ptx::pin(weights);
      ptx::pin(d);
      // All threads have read the weights before one of them gives the stage back.
      ptx::named_barrier(1 + group, kWarpgroup);
      if (t % kWarpgroup == 0) ptx::mbarrier_arrive(shared.empty[at.stage]);
    }
    if (!sum_of_parts<kConsumers>(d, work, piece.tile, sums, finished, group, 1 + group,
                                  shared.last[group]))
      continue;
    const TileAt tile = tile_at<kGroup>(grid, piece.tile);
    // Register r holds column R + 8 (r / 2 % 2) of Z and row 8 (r / 4) + 2 (lane % 4) + r % 2:
    // eight lanes write 32 contiguous bytes.
    auto* z = static_cast<float*>(a.z) + tile.batch * a.z_stride;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t column = std::int64_t{tile.n} * kColumns + 64 * group +
                                  16 * (t % kWarpgroup / 32) + lane / 4 + 8 * half;
      if (column >= a.n) continue;
      const float scale = a.scales[tile.batch * a.n + column];
#pragma unroll
      for (int j = 0; j < kRows / 4; ++j) {
        const std::int64_t row =
            std::int64_t{tile.m} * kRows + 8 * (j / 2) + 2 * (lane % 4) + j % 2;
        if (row < a.m) z[row * a.z_pitch + column] = scale * d[j / 2 * 4 + 2 * half + j % 2];
      }
    }
  }
}

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  allow_shared(widen_kernel, sizeof(Shared));
  const TileGrid grid{tiles(a.m, kRows), tiles(a.n, kColumns), static_cast<int>(a.batch)};
  const Maps maps{
      cuda::tensor_map({types.x, a.x, a.k, a.m, a.batch, a.x_pitch, a.x_stride}, kRows),
      cuda::tensor_map({types.y, a.y, a.k, a.n, a.batch, a.y_pitch, a.y_stride}, kColumns)};
  const StreamK work = stream_k(grid.count(), tiles(a.k, kDepth), cuda::device().sms, kPartSteps);
  const auto* first = static_cast<const State*>(a.state);
  return std::make_shared<State>(State{maps, grid,
                                       stream_k_state(work, kConsumers, kConsumers * sizeof(Sums),
                                                      first ? &first->parts : nullptr)});
}

void launch(const GpuArguments& a, cudaStream_t stream) {
  const auto& state = *static_cast<const State*>(a.state);
  const auto& [work, bytes, sums, finished] = state.parts;
  widen_kernel<<<work.blocks, kThreads, sizeof(Shared), stream>>>(
      state.maps.x, state.maps.y, a, state.grid, work, cuda::as<Sums>(sums),
      cuda::as<unsigned>(finished));
  CUDA_CHECK_LAUNCH("widening matmul");
}

double part_bytes(const void* state) { return static_cast<const State*>(state)->parts.part_bytes; }

}  // namespace

/// A warpgroup reads its 64 columns of weights and all rows of X.
extern const GpuKernel sm90a_v15_widen = {.exec_unit = "wgmma",
                                          .bf16xs8 = launch,
                                          .tiles = {.block_m = kRows,
                                                    .block_n = kColumns,
                                                    .block_k = kDepth,
                                                    .warp_m = kRows,
                                                    .warp_n = 64},
                                          .open = open,
                                          .open_each = true,
                                          .part_bytes = part_bytes};

}  // namespace kernels::matmul
