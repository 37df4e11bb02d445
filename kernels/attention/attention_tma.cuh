// A block over a piece of one kv head's context: a producer warp brings K and V in by TMA, four
// warps take a step's tokens of each stage and put their sums together in shared memory.
//
// What a warp does with its tokens is a class `Heads`: TmaHeads here, or one of its interface.
#pragma once

#include <limits>
#include <memory>

#include "kernels/attention/attention_mma.cuh"
#include "kernels/cuda/ring.cuh"
#include "kernels/cuda/shared_memory.hpp"
#include "kernels/cuda/tensor_map.hpp"
#include "kernels/cuda/wgmma.cuh"

namespace kernels::attention {

namespace ptx = kernels::cuda::ptx;

inline constexpr int kTmaWarps = 4;                       ///< that multiply
inline constexpr int kTmaThreads = (kTmaWarps + 1) * 32;  ///< the last warp is the producer
inline constexpr int kBoxTokens = 16;                     ///< a box stays within a page
inline constexpr int kPanelRow = 128;                     ///< bytes: one period of the swizzle
inline constexpr int kRingBytes = 96 << 10;               ///< of which two fit an SM

/// A warp's heads, 16 at most, over 16 tokens a step.
template <class T, int dim>
struct TmaHeads : MmaHeads<T, dim> {
  using Element = T;
  static constexpr int kDim = dim;
  static constexpr int kMost = kMmaHeads;         ///< heads of an item
  static constexpr int kStepTokens = kMmaTokens;  ///< of a warp
  static constexpr bool kAnyValue = false;        ///< values beyond the end must be finite

  /// Lane l has the scales of token l % kStepTokens.
  template <class Place>
  __device__ __forceinline__ void step(const uint4* k, const uint4* v, Place place, int left,
                                       float k_scale, float v_scale) {
    MmaHeads<T, dim>::step(
        k, v, place, left, [&](int token) { return __shfl_sync(kAllLanes, k_scale, token); },
        [&](int token) { return __shfl_sync(kAllLanes, v_scale, token); });
  }

  /// After finish(): `sum(head, dimension, value)` for all that this lane has, then
  /// `stat(head, maximum, total)`; maximum in units of log2, and any other number would do.
  template <class Sum, class Stat>
  __device__ __forceinline__ void leave(Sum sum, Stat stat) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int head = lane / 4 + 8 * half;
#pragma unroll
      for (int n = 0; n < dim / 8; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) sum(head, this->dimension_of(n, e), this->out[n][2 * half + e]);
      if (lane % 4 == 0) stat(head, this->max[half], this->total[half]);
    }
  }
};

/// `panels` times [tokens][128 bytes of a row], swizzled.
template <int panels, int tokens>
struct TmaStage {
  alignas(1024) uint4 k[panels][tokens][kPanelRow / 16];
  alignas(1024) uint4 v[panels][tokens][kPanelRow / 16];
};

/// What the producer fills for warps of `Heads_`.
template <class Heads_>
struct TmaRing {
  using Heads = Heads_;
  static constexpr int kPanels =
      Heads::kDim * static_cast<int>(sizeof(typename Heads::Element)) / kPanelRow;
  static constexpr int kTokens = kTmaWarps * Heads::kStepTokens;  ///< of a stage
  static constexpr int kBoxes = kTokens / kBoxTokens;             ///< of a panel of a stage
  using Stage = TmaStage<kPanels, kTokens>;
  static constexpr int kStages = kRingBytes / static_cast<int>(sizeof(Stage));
  static_assert(Heads::kStepTokens % kBoxTokens == 0 && kBoxes < 32, "a lane issues a box");
  using Position = cuda::RingPosition<kStages>;
};

template <class Heads>
struct TmaShared : TmaRing<Heads> {
  using Ring = TmaRing<Heads>;
  static constexpr bool kRunsOn = false;  ///< the ring ends with the piece
  static constexpr int kJoined = Heads::kMost;
  union {
    typename Ring::Stage stages[Ring::kStages];
    // Once no stage is used any more:
    float sums[kTmaWarps][kJoined][Heads::kDim];
    CombineShared<Heads::kDim, kTmaWarps * 32> combined;
  };
  float2 stats[kTmaWarps][Heads::kMost];
  ptx::Mbarrier full[Ring::kStages], empty[Ring::kStages];
  bool last;
};

struct TmaMaps {
  CUtensorMap k, v;
};

/// The producer: its lane i < kBoxes brings in tokens 16 i to 16 i + 15 of every stage. A lane
/// without a box waits for no stage: the others' may be full, used and free again before it looks,
/// and it would wait for ever. One with a box cannot be late, as the stage is not full without it.
template <class S>
__device__ __forceinline__ void produce(S& shared, const CUtensorMap& k, const CUtensorMap& v,
                                        const GpuArguments& a, const MmaItem& item,
                                        typename S::Position& at) {
  constexpr int kBoxBytes = kBoxTokens * kPanelRow;
  const int lane = threadIdx.x % 32;
  for (int first = item.begin; first < item.end; first += S::kTokens, at.advance()) {
    const int token = first + kBoxTokens * lane;
    const int boxes = min(S::kBoxes, (item.end - first + kBoxTokens - 1) / kBoxTokens);
    const int row =
        static_cast<int>(row_of(a, item.sequence, item.kv_head, min(token, item.end - 1)));
    if (lane >= boxes) continue;
    ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
    // Bytes may come before they are expected: the phase ends no sooner than this arrival.
    ptx::Mbarrier& full = shared.full[at.stage];
    if (lane == 0) ptx::mbarrier_arrive_expect(full, 2 * S::kPanels * boxes * kBoxBytes);
    auto& stage = shared.stages[at.stage];
#pragma unroll
    for (int p = 0; p < S::kPanels; ++p) {
      const int column = p * kPanelRow / static_cast<int>(sizeof(typename S::Heads::Element));
      ptx::load_box(stage.k[p][kBoxTokens * lane], k, column, row, 0, full);
      ptx::load_box(stage.v[p][kBoxTokens * lane], v, column, row, 0, full);
    }
  }
}

/// A consumer warp: its tokens of every stage.
template <class S>
__device__ __forceinline__ void consume(S& shared, const GpuArguments& a, const MmaItem& item,
                                        typename S::Heads& heads, typename S::Position& at) {
  using Heads = typename S::Heads;
  constexpr int kStepTokens = Heads::kStepTokens;
  constexpr int kRowChunks = S::kPanels * kPanelRow / 16;
  const int lane = threadIdx.x % 32, offset = kStepTokens * (threadIdx.x / 32);
  const auto place = [](int row, int c) {
    return (c / 8) * (S::kTokens * 8) + row * 8 + ((c % 8) ^ (row & 7));
  };

  // Of the step at hand and the next one, lane l has token l % kStepTokens's.
  float k_scale = 0, v_scale = 0, next_k_scale = 0, next_v_scale = 0;
  const auto load_scales = [&](int first) {
    if constexpr (Heads::kScaled) {
      if (first >= item.end) return;
      const std::int64_t at =
          row_of(a, item.sequence, item.kv_head, min(first + lane % kStepTokens, item.end - 1));
      next_k_scale = a.k_scale[at];
      next_v_scale = a.v_scale[at];
    }
  };

  load_scales(item.begin + offset);
#pragma unroll 1
  for (int first = item.begin + offset; first - offset < item.end;
       first += S::kTokens, at.advance()) {
    k_scale = next_k_scale;
    v_scale = next_v_scale;
    load_scales(first + S::kTokens);
    ptx::mbarrier_wait(shared.full[at.stage], at.parity);
    const int left = item.end - first;
    if (left > 0) {
      auto& stage = shared.stages[at.stage];
      const uint4* k = stage.k[0][offset];
      uint4* v = stage.v[0][offset];
      if (!Heads::kAnyValue && left < kStepTokens) {
        // What the box brought from behind the end has no weight, but may be no number.
        for (int i = lane; i < (kStepTokens - left) * kRowChunks; i += 32)
          v[place(left + i / kRowChunks, i % kRowChunks)] = uint4{0, 0, 0, 0};
        if constexpr (S::kRunsOn) ptx::fence_async_proxy();  // copies follow these writes
        __syncwarp();
      }
      heads.step(k, v, place, left, k_scale, v_scale);
    }
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(shared.empty[at.stage]);
  }
}

/// The four warps' sums, brought to one maximum, as the piece's partial sums; kJoined heads at a
/// time.
template <class S>
__device__ __forceinline__ void join_warps(S& shared, const GpuArguments& a, const MmaItem& item,
                                           typename S::Heads& heads) {
  using Heads = typename S::Heads;
  constexpr int kThreads = kTmaWarps * 32, kBarrier = 1, dim = Heads::kDim;
  const int warp = threadIdx.x / 32;
  heads.finish();
#pragma unroll
  for (int first = 0; first < Heads::kMost; first += S::kJoined) {
    if (first >= item.heads) break;
    const auto joined = [&](int head) { return head >= first && head < first + S::kJoined; };
    ptx::named_barrier(kBarrier, kThreads);  // all are done with what was there
    heads.leave(
        [&](int head, int d, float sum) {
          if (joined(head)) shared.sums[warp][head - first][d] = sum;
        },
        [&](int head, float max, float total) {
          if (joined(head)) shared.stats[warp][head - first] = {max, total};
        });
    ptx::named_barrier(kBarrier, kThreads);
    const int count = min(item.heads - first, S::kJoined);
    for (int i = threadIdx.x; i < count * dim; i += kThreads) {
      const int head = i / dim, d = i % dim;
      float max = -INFINITY, total = 0, sum = 0;
#pragma unroll
      for (int w = 0; w < kTmaWarps; ++w) max = fmaxf(max, shared.stats[w][head].x);
#pragma unroll
      for (int w = 0; w < kTmaWarps; ++w) {
        const float share = weight(shared.stats[w][head].x, max);
        total += share * shared.stats[w][head].y;
        sum += share * shared.sums[w][head][d];
      }
      const std::int64_t slot =
          std::int64_t{item.first_head + first + head} * a.chunks + item.piece;
      a.partial_sums[slot * dim + d] = sum;
      if (d == 0) a.partial_stats[slot] = {max, total};
    }
  }
}

/// The block that ends last of an item's `pieces` combines them.
template <class S>
__device__ __forceinline__ void combine_if_last(S& shared, const GpuArguments& a,
                                                const MmaItem& item, int pieces) {
  constexpr int kThreads = kTmaWarps * 32, kBarrier = 1;
  const auto synchronise = [] { ptx::named_barrier(kBarrier, kThreads); };
  synchronise();
  if (threadIdx.x == 0) {
    __threadfence();  // the sums are visible before they are counted
    shared.last = atomicInc(&a.finished[item.number], pieces - 1) == pieces - 1;
    if (shared.last) __threadfence();  // and the others' are read after they were counted
  }
  synchronise();
  if (!shared.last) return;
  combine_heads<S::Heads::kDim>(a, item.first_head, item.heads, pieces, shared.combined,
                                synchronise);
}

template <class Heads, bool kFused>
__global__ void __launch_bounds__(kTmaThreads, 2)
    tma_kernel(const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
               GpuArguments a) {
  auto& shared = ptx::dynamic_shared<TmaShared<Heads>>();
  const MmaItem item(a, blockIdx.y, blockIdx.x, Heads::kMost);
  if (threadIdx.x == 0) cuda::init_ring(shared.full, shared.empty, kTmaWarps);
  __syncthreads();
  typename TmaRing<Heads>::Position at;
  if (threadIdx.x >= kTmaWarps * 32) {
    if (threadIdx.x % 32 < TmaRing<Heads>::kBoxes) produce(shared, k, v, a, item, at);
    return;
  }
  Heads heads;
  heads.load_queries(a, item);
  consume(shared, a, item, heads, at);
  join_warps(shared, a, item, heads);
  if constexpr (kFused) combine_if_last(shared, a, item, gridDim.x);
}

template <class Heads, bool kFused>
int launch_tma(const GpuArguments& a, cudaStream_t stream) {
  const auto& maps = *static_cast<const TmaMaps*>(a.state);
  const dim3 blocks(a.chunks, mma_items(a, Heads::kMost));
  constexpr std::size_t kShared = sizeof(TmaShared<Heads>);
  tma_kernel<Heads, kFused><<<blocks, kTmaThreads, kShared, stream>>>(maps.k, maps.v, a);
  CUDA_CHECK_LAUNCH("tma attention");
  if constexpr (!kFused) combine<Heads::kDim>(a, stream);
  return kFused ? 1 : 2;
}

/// Maps for K and V, rows as they lie in the pool. Throws Unsupported where 32-bit coordinates end.
inline std::shared_ptr<void> tma_maps(const GpuArguments& a, cuda::Type type, std::int64_t rows,
                                      std::int64_t head_dim) {
  if (rows > std::numeric_limits<int>::max())
    throw cuda::Unsupported("cache: too many rows for TMA");
  const auto map = [&](const void* data) {
    return cuda::tensor_map({.type = type,
                             .data = data,
                             .columns = head_dim,
                             .rows = rows,
                             .batch = 1,
                             .pitch = head_dim,
                             .stride = rows * head_dim},
                            kBoxTokens);
  };
  return std::make_shared<TmaMaps>(TmaMaps{map(a.k), map(a.v)});
}

/// For kernels of any of these `Heads`.
template <bool kFused, class... Heads>
std::shared_ptr<void> open_tma(const GpuArguments& a, cuda::Type type, std::int64_t rows,
                               std::int64_t head_dim) {
  (cuda::allow_shared(tma_kernel<Heads, kFused>, sizeof(TmaShared<Heads>)), ...);
  return tma_maps(a, type, rows, head_dim);
}

/// Rows of 64 bytes are half a period of the swizzle: heads of 64 in 8 bits are left to v4.
template <bool kFused>
constexpr GpuKernel tma_variant() {
  using B64 = TmaHeads<bf16, 64>;
  using B128 = TmaHeads<bf16, 128>;
  using H64 = TmaHeads<__half, 64>;
  using H128 = TmaHeads<__half, 128>;
  using E128 = TmaHeads<__nv_fp8_e4m3, 128>;
  using S128 = TmaHeads<std::int8_t, 128>;
  return {.bf16 = {launch_tma<B64, kFused>, launch_tma<B128, kFused>},
          .f16 = {launch_tma<H64, kFused>, launch_tma<H128, kFused>},
          .e4m3 = {nullptr, launch_tma<E128, kFused>},
          .s8 = {nullptr, launch_tma<S128, kFused>},
          .splits = true,
          .pieces_per_sm = 1,
          .shared_heads = [](int) { return kMmaHeads; },
          .tensor_cores = true,
          .page_grain = kBoxTokens,
          .open = open_tma<kFused, B64, B128, H64, H128, E128, S128>};
}

}  // namespace kernels::attention
