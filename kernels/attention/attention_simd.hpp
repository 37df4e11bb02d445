// What threads do of an attention, each by a Group (attention_group.hpp): heads, groups of them, or
// chunks of the context as well, whose results are combined.
#pragma once

#include <omp.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/attention/attention_group.hpp"
#include "kernels/attention/attention_pages.hpp"

namespace kernels::attention {
namespace {

/// Calls `with.template operator()<G, H>()` with the register tiles for a group and a head_dim.
template <class With>
void with_tiles(std::int64_t group, std::int64_t head_dim, With with) {
  const auto with_group = [&]<int H>() {
    if (group == 1) return with.template operator()<1, H>();
    if (group == 2) return with.template operator()<2, H>();
    if (group <= 4) return with.template operator()<4, H>();
    return with.template operator()<8, H>();
  };
  return head_dim == 64 ? with_group.template operator()<64>()
                        : with_group.template operator()<128>();
}

/// Each query head by itself: a kv head's cache is read once for every head of its group.
template <class F, class T>
void attend_by_head(const Args<T>& a) {
  with_tiles(1, a.head_dim, [&]<int G, int H>() {
#pragma omp parallel for num_threads(a.threads)
    for (std::int64_t head = 0; head < a.batch * a.heads; ++head) {
      Group<F, T, 1, H, Ask::nothing> group(a, a.q + head * H, 1);
      attend(group, a, head / a.heads, head % a.heads / (a.heads / a.kv_heads), 0, a.context);
      group.finish(a.out + head * H);
    }
  });
}

/// Each kv head by itself, for all of its query heads.
template <class F, class T>
void attend_by_group(const Args<T>& a) {
  const std::int64_t heads = a.heads / a.kv_heads;
  with_tiles(heads, a.head_dim, [&]<int G, int H>() {
#pragma omp parallel for num_threads(a.threads)
    for (std::int64_t item = 0; item < a.batch * a.kv_heads; ++item) {
      Group<F, T, G, H, Ask::nothing> group(a, a.q + item * heads * H, static_cast<int>(heads));
      attend(group, a, item / a.kv_heads, item % a.kv_heads, 0, a.context);
      group.finish(a.out + item * heads * H);
    }
  });
}

/// out = the chunks' partial outputs of one head, each weighted by its distance from the highest
/// maximum.
template <class F, class T, int H>
void combine(const float* partials, std::int64_t chunks, float* out) {
  float max = -INFINITY, sum = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const float m = partials[c * (H + 2) + H];
    max = m > max ? m : max;
  }
  typename F::V acc[H / F::kWidth];
  for (auto& x : acc) x = F::zero();
  for (std::int64_t c = 0; c < chunks; ++c) {
    const float* partial = partials + c * (H + 2);
    const typename F::V weight = exp2_normal<F>(F::set1(partial[H] - max));
    alignas(64) float lanes[F::kWidth];
    F::store(lanes, weight);
    sum += partial[H + 1] * lanes[0];
    for (int j = 0; j < H / F::kWidth; ++j)
      acc[j] = F::fma(weight, F::load(partial + j * F::kWidth), acc[j]);
  }
  alignas(64) float whole[H];
  for (int j = 0; j < H / F::kWidth; ++j) F::store(whole + j * F::kWidth, acc[j]);
  from_positions<F, T, H>(whole, 1 / sum, out);
}

/// Writes what a group of query heads, of all sequences the `first` and on, has made of a chunk:
/// outputs, or where there are several chunks partial results.
template <class Heads, class T>
void finish(const Args<T>& a, const Heads& group, std::int64_t first, std::int64_t chunk,
            std::int64_t chunks) {
  const std::int64_t partial = a.head_dim + 2;
  if (chunks == 1)
    group.finish(a.out + first * a.head_dim);
  else
    group.finish_partial(a.scratch + (first * chunks + chunk) * partial, chunks * partial);
}

/// One chunk of one kv head of a sequence.
template <class Heads, class T>
void attend_piece(const Args<T>& a, std::int64_t item, std::int64_t chunk, std::int64_t chunks) {
  const std::int64_t heads = a.heads / a.kv_heads, first = item * heads;
  const std::int64_t begin = chunk * a.chunk_tokens;
  const std::int64_t end = begin + a.chunk_tokens < a.context ? begin + a.chunk_tokens : a.context;
  Heads group(a, a.q + first * a.head_dim, static_cast<int>(heads));
  attend(group, a, item / a.kv_heads, item % a.kv_heads, begin, end);
  finish(a, group, first, chunk, chunks);
}

/// One chunk of a sequence, of `pages` whole pages, for all of its kv heads.
template <class Heads, class T>
void attend_pages_of_chunk(const Args<T>& a, std::int64_t b, std::int64_t chunk,
                           std::int64_t chunks, std::int64_t pages) {
  const std::int64_t tokens = pages * a.page_tokens, begin = chunk * tokens;
  const std::int64_t end = begin + tokens < a.context ? begin + tokens : a.context;
  attend_pages<Heads>(a, b, begin, end, [&](std::int64_t kv_head, const Heads& group) {
    finish(a, group, (b * a.kv_heads + kv_head) * (a.heads / a.kv_heads), chunk, chunks);
  });
}

/// `piece(item, chunk)` for the chunks of all items, which threads share (shares.hpp), then every
/// head's results of several chunks combined.
template <class F, int H, class T, class Piece>
void in_pieces(const Args<T>& a, std::int64_t items, std::int64_t chunks, Piece piece) {
  clear(a.shares, a.threads);
  const std::int64_t pieces = items * chunks, own_pieces = (pieces + a.threads - 1) / a.threads;
#pragma omp parallel num_threads(a.threads)
  {
    const auto work = [&](int owner, std::int64_t i) {
      const std::int64_t at = owner * own_pieces + i;
      if (at < pieces) piece(at / chunks, at % chunks);
    };
    take_pieces(a.shares, a.threads, omp_get_thread_num(), own_pieces, work);
    if (chunks > 1) {
#pragma omp barrier
#pragma omp for nowait
      for (std::int64_t head = 0; head < a.batch * a.heads; ++head)
        combine<F, T, H>(a.scratch + head * chunks * (H + 2), chunks, a.out + head * H);
    }
  }
}

template <class F, class T, int G, int H, Ask kAsk>
using SimdGroup = Group<F, T, G, H, kAsk>;

/// Whether lines that lie in order are left to the hardware where others are asked for into L2: L1
/// is small there, and requests get in the hardware's way where an element is used by few heads
/// (one core of Zen 3, bf16 of one head: 20.2 against 10.8 GB/s; one core of Zen 4, four by four in
/// the order of memory, up to four heads: 1.3 to 1.6 times as fast). NOTES.md, "Lines left to the
/// hardware".
template <class F, class T, int G, class Heads>
constexpr bool leaves_to_hardware() {
  constexpr bool kBf16 = std::is_same_v<T, bf16>, kFloat = std::is_same_v<T, float>;
  if (!Heads::kByRow) return G <= (kBf16 || kFloat ? 4 : 2);
  if (kBf16 && G == 1) return true;
  return (kBf16 ? G == 2 : G == 1 && kFloat) && sizeof(typename F::V) == 64;
}

/// Chunks of the context as well, for threads to share, with software prefetch.
template <class F, class T, template <class, class, int, int, Ask> class Heads = SimdGroup>
void attend_split(const Args<T>& a) {
  with_tiles(a.heads / a.kv_heads, a.head_dim, [&]<int G, int H>() {
    using InOrder = Heads<F, T, G, H, Ask::in_order>;
    if constexpr (InOrder::kInTurns)
      if (a.whole_pages) {
        const std::int64_t pages = (a.chunk_tokens + a.page_tokens - 1) / a.page_tokens,
                           chunks = (a.sequence_pages + pages - 1) / pages;
        return in_pieces<F, H>(a, a.batch, chunks, [&](std::int64_t b, std::int64_t chunk) {
          attend_pages_of_chunk<InOrder>(a, b, chunk, chunks, pages);
        });
      }
    const std::int64_t chunks = (a.context + a.chunk_tokens - 1) / a.chunk_tokens;
    in_pieces<F, H>(a, a.batch * a.kv_heads, chunks, [&](std::int64_t item, std::int64_t chunk) {
      constexpr bool kByRow = InOrder::kByRow, kLeaves = leaves_to_hardware<F, T, G, InOrder>();
      constexpr Ask kInStreams = kByRow ? Ask::into_l1 : Ask::by_l2,
                    kIntoL2 = kByRow ? Ask::into_l2 : Ask::by_l2,
                    kContiguous = kLeaves                ? Ask::nothing
                                  : InOrder::kLongBlocks ? Ask::by_l2_in_long_blocks
                                                         : kIntoL2;
      if (a.reading == Reading::in_order)
        attend_piece<InOrder>(a, item, chunk, chunks);
      else if (a.reading == Reading::streams)
        attend_piece<Heads<F, T, G, H, kInStreams>>(a, item, chunk, chunks);
      else if (a.table == nullptr)
        attend_piece<Heads<F, T, G, H, kContiguous>>(a, item, chunk, chunks);
      else
        attend_piece<Heads<F, T, G, H, kIntoL2>>(a, item, chunk, chunks);
    });
  });
}

}  // namespace
}  // namespace kernels::attention
