// Idea: blocks stay and take pieces from a queue, long ones first, so that all end within a short
// piece of each other; the ring runs on across pieces, so that one begins while the one before is
// joined.
// Bound: HBM.
// Gains over v6: not timed yet. Predicted for 32 sequences of 8192 tokens: v6 has a block a
// context, which end at different times: an H200's SMs are idle for 8 % of the time. Here they are
// for half of a piece of 128 KB, 4 of 230 us: 0.95 of the HBM roof in 16 bits where v6 has 0.86 to
// 0.90. A piece costs its four warps some 3 us in which they do not multiply, for which a ring of
// 96 KB holds 5. Pieces of one length, each a block of its own, had cost v5 3 to 7 %: their rings
// filled and ran empty each time.
#include <algorithm>

#include "kernels/attention/attention_mma_bytes.cuh"
#include "kernels/attention/attention_tma.cuh"
#include "kernels/cuda/device.hpp"

namespace kernels::attention {
namespace {

constexpr int kQueueBlocks = 2;  // an SM

/// Warps are joined beside the ring, which is in use.
template <class Heads>
struct QueueShared : TmaRing<Heads> {
  using Ring = TmaRing<Heads>;
  static constexpr bool kRunsOn = true;
  static constexpr int kJoined = 8;
  typename Ring::Stage stages[Ring::kStages];
  union {
    float sums[kTmaWarps][kJoined][Heads::kDim];
    CombineShared<Heads::kDim, kTmaWarps * 32> combined;
  };
  float2 stats[kTmaWarps][kJoined];
  ptx::Mbarrier full[Ring::kStages], empty[Ring::kStages];
  int next[Ring::kStages];  ///< of a piece's first stage: which piece it is; kNone: the end
  bool last;
};
constexpr int kNone = -1;

/// The pieces of all items, long ones first.
template <class Heads>
struct Queue {
  const GpuArguments& a;
  int longs, items;

  explicit __device__ __forceinline__ Queue(const GpuArguments& arguments)
      : a(arguments), longs(long_pieces(arguments)), items(mma_items(arguments, Heads::kMost)) {}

  __device__ __forceinline__ MmaItem operator[](int index) const {
    const bool is_long = index < items * longs;
    const int of_item = is_long ? longs : a.chunks - longs;
    const int at = is_long ? index : index - items * longs;
    const int piece = at % of_item + (is_long ? 0 : longs);
    return MmaItem(a, at / of_item, piece, piece_begin(a, longs, piece),
                   a.chunk * (is_long ? kLongPiece : 1), Heads::kMost);
  }

  /// How many of an item's pieces have tokens.
  __device__ __forceinline__ int pieces_of(const MmaItem& item) const {
    const int length = length_of(a, item.sequence), longs_end = piece_begin(a, longs, longs);
    const int long_tokens = kLongPiece * a.chunk;
    if (length <= longs_end) return (length + long_tokens - 1) / long_tokens;
    return longs + (length - longs_end + a.chunk - 1) / a.chunk;
  }
};

template <class Heads>
__device__ __forceinline__ void produce_queue(QueueShared<Heads>& shared, const CUtensorMap& k,
                                              const CUtensorMap& v, const Queue<Heads>& queue) {
  constexpr int kLanes = TmaRing<Heads>::kBoxes;
  const int lane = threadIdx.x % 32;
  if (lane >= kLanes) return;
  const int pieces = queue.items * queue.a.chunks;
  unsigned* const draws = queue.a.finished + queue.a.batch * queue.a.heads;
  typename TmaRing<Heads>::Position at;
  // By lane 0, which has a box in every stage: see produce().
  const auto tell = [&](int index) {
    if (lane != 0) return;
    ptx::mbarrier_wait(shared.empty[at.stage], at.parity ^ 1);
    shared.next[at.stage] = index;
  };
  for (int index = blockIdx.x; index < pieces;) {
    // One draw a piece, the last ones of all blocks in vain: `pieces` draws, back to 0.
    int drawn = 0;
    if (lane == 0) drawn = static_cast<int>(atomicInc(draws, pieces - 1));
    const MmaItem item = queue[index];
    if (item.begin < item.end) {
      tell(index);
      produce(shared, k, v, queue.a, item, at);
    }
    index = gridDim.x + __shfl_sync((1u << kLanes) - 1, drawn, 0);
  }
  tell(kNone);
  if (lane == 0) ptx::mbarrier_arrive(shared.full[at.stage]);
}

template <class Heads>
__global__ void __launch_bounds__(kTmaThreads, kQueueBlocks)
    queue_kernel(const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v,
                 GpuArguments a) {
  auto& shared = ptx::dynamic_shared<QueueShared<Heads>>();
  const Queue<Heads> queue(a);
  if (threadIdx.x == 0) cuda::init_ring(shared.full, shared.empty, kTmaWarps);
  __syncthreads();
  if (threadIdx.x >= kTmaWarps * 32) {
    produce_queue(shared, k, v, queue);
    return;
  }
  typename TmaRing<Heads>::Position at;
  while (true) {
    ptx::mbarrier_wait(shared.full[at.stage], at.parity);
    const int index = shared.next[at.stage];
    if (index == kNone) return;
    const MmaItem item = queue[index];
    Heads heads;
    heads.load_queries(a, item);
    consume(shared, a, item, heads, at);
    join_warps(shared, a, item, heads);
    combine_if_last(shared, a, item, queue.pieces_of(item));
  }
}

template <class Heads>
int launch_queue(const GpuArguments& a, cudaStream_t stream) {
  const auto& maps = *static_cast<const TmaMaps*>(a.state);
  const int pieces = mma_items(a, Heads::kMost) * a.chunks;
  const int blocks = std::min(pieces, kQueueBlocks * cuda::device().sms);
  constexpr std::size_t kShared = sizeof(QueueShared<Heads>), kReserved = 1 << 10, kSm = 228 << 10;
  static_assert(kQueueBlocks * (kShared + kReserved) <= kSm);
  queue_kernel<Heads><<<blocks, kTmaThreads, kShared, stream>>>(maps.k, maps.v, a);
  CUDA_CHECK_LAUNCH("queue attention");
  return 1;
}

template <class... Heads>
std::shared_ptr<void> open_queue(const GpuArguments& a, cuda::Type type, std::int64_t rows,
                                 std::int64_t head_dim) {
  (cuda::allow_shared(queue_kernel<Heads>, sizeof(QueueShared<Heads>)), ...);
  return tma_maps(a, type, rows, head_dim);
}

using B64 = TmaHeads<bf16, 64>;
using B128 = TmaHeads<bf16, 128>;
using H64 = TmaHeads<__half, 64>;
using H128 = TmaHeads<__half, 128>;
using E128 = ByteHeads<__nv_fp8_e4m3, 128>;
using S128 = ByteHeads<std::int8_t, 128>;
static_assert(E128::kMost == S128::kMost);

}  // namespace

extern const GpuKernel sm90a_v8_queue = {
    .bf16 = {launch_queue<B64>, launch_queue<B128>},
    .f16 = {launch_queue<H64>, launch_queue<H128>},
    .e4m3 = {nullptr, launch_queue<E128>},
    .s8 = {nullptr, launch_queue<S128>},
    .splits = true,
    .pieces_per_sm = 1,
    .queue_blocks = kQueueBlocks,
    .shared_heads = [](int bytes) { return bytes == 1 ? E128::kMost : kMmaHeads; },
    .tensor_cores = true,
    .two_terms = S128::kTwoTerms,
    .page_grain = kBoxTokens,
    .open = open_queue<B64, B128, H64, H128, E128, S128>};

}  // namespace kernels::attention
