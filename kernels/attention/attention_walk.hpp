// The order in which a SIMD kernel takes the tokens of its piece of a cache, and how it asks for
// those to come.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/attention/attention.hpp"

namespace kernels::attention {
namespace {

constexpr int lesser(int a, int b) { return a < b ? a : b; }
constexpr int greater(int a, int b) { return a > b ? a : b; }

/// Where the next block of the cache is asked for while this one is worked on: into L2 as an L1 of
/// eight ways drops part of it (four cores of Zen 4, cold: 1.4 to 1.9 times as fast), in order for
/// Zen 5, by L2 (and into L1 when it is half a block nearer) where tokens are taken four by four on
/// Intel and, unless the hardware follows them better by itself, on Zen 4, where some blocks are
/// long; AMX tiles ask in ways of their own. NOTES.md, "Into L1 or into L2", "Streams", "In the
/// order of memory", "Lines prefetched twice", "Lines left to the hardware" and "Tokens of a block,
/// four by four".
enum class Ask { nothing, into_l1, into_l2, by_l2, by_l2_in_long_blocks, in_order };

/// Elements of a line of cache.
template <class T>
constexpr int kLine = 64 / static_cast<int>(sizeof(T));

/// Asks for `n` elements of a row of the next block. What was tried farther ahead, sooner and in
/// smaller steps: NOTES.md, "A block ahead".
template <Ask kAsk, int n, class T>
void prefetch(const T* row) {
  for (int at = 0; at < n; at += kLine<T>)
    __builtin_prefetch(row + at, 0, kAsk == Ask::into_l2 ? 2 : 3);
}

/// The rows of the pool that hold the tokens [begin, end): as many whole blocks as there are, of
/// streams() parts side by side, then the rest in order. Each part is begun a block's share
/// further in than the one before, and its beginning taken last: parts of 2^n bytes would be read
/// in the same sets of the caches at one time. NOTES.md, "Streams".
template <class T, int G, int H, Ask kAsk, int kBlock, int kRun>
class Walk {
 public:
  /// Parts of the cache read side by side. In four pages of memory at once they keep the hardware's
  /// prefetchers busy, which stop at the end of a page: NOTES.md, "Streams".
  static constexpr int kMostStreams = lesser(4, kBlock / kRun);

  /// Parts of the cache read side by side, at most kMostStreams.
  static int streams(const Args<T>& a) {
    if (kAsk == Ask::in_order) return 1;
    const bool into_l2 = a.reading == Reading::into_l2, pages = a.table != nullptr;
    if (into_l2 && kRun > 1) {
      constexpr bool kOneOfBytes = G == 1 && sizeof(T) == 1 && kAsk == Ask::nothing;
      return lesser(pages ? (G > 2 ? 2 : 4) : kOneOfBytes ? 2 : 1, kMostStreams);
    }
    if (pages) return kMostStreams;
    const bool followed = into_l2 && G == 2 && std::is_same_v<T, bf16>;
    const bool two = kAsk == Ask::into_l2 || a.reading == Reading::in_order || followed;
    return two ? lesser(2, kMostStreams) : kMostStreams;
  }

  /// Of kv head `kv_head` of sequence `b`.
  Walk(const Args<T>& a, std::int64_t b, std::int64_t kv_head, std::int64_t begin, std::int64_t end)
      : a_(a),
        first_page_(b * a.sequence_pages),
        kv_head_(kv_head),
        begin_(begin),
        left_(end - begin),
        last_page_((end - 1) / a.page_tokens),
        blocks_(left_ / kBlock),
        count_(streams(a)) {
    for (int i = 0; i < count_; ++i) streams_[i] = at(i * blocks_ + lead(i));
  }

  /// The next block's; returns how many.
  int next(std::int64_t* rows) {
    const int count = left_ < kBlock ? static_cast<int>(left_) : kBlock;
    const std::int64_t to_go = left_ / kBlock;
    left_ -= count;
    if (count == kBlock) {
      for (int i = 0; i < count_; ++i) {
        if (to_go == lead(i)) streams_[i] = at(i * blocks_);
        take(streams_[i], rows + i * kRun, kBlock / count_, (count_ - 1) * kRun);
      }
    } else if (count > 0) {
      Stream rest = at(count_ * blocks_);
      take(rest, rows, count, 0);
    }
    return count;
  }

 private:
  struct Stream {
    std::int64_t row, page, in;  ///< the page's first row, the page, the token in it
  };
  /// Shares of a block that part i is begun further in; with as many blocks left its beginning is
  /// next.
  std::int64_t lead(int i) const { return i < blocks_ ? i : 0; }
  /// Where the piece's `share`th share of a block begins.
  Stream at(std::int64_t share) const {
    const std::int64_t token = begin_ + share * (kBlock / count_);
    return {row_of(token / a_.page_tokens), token / a_.page_tokens, token % a_.page_tokens};
  }
  /// The stream's next `count` tokens, with `gap` places left out behind every run.
  void take(Stream& stream, std::int64_t* rows, int count, int gap) {
    if (gap == 0 && stream.in + count <= a_.page_tokens) {
      for (int i = 0; i < count; ++i) rows[i] = stream.row + stream.in + i;
      stream.in += count;
      return;
    }
    Stream s = stream;
    for (int i = 0; i < count; ++i, ++rows) {
      if (s.in == a_.page_tokens) s = enter(s.page + 1);
      if (i > 0 && i % kRun == 0) rows += gap;
      *rows = s.row + s.in++;
    }
    stream = s;
  }
  /// Begins a page. With one stream the third after it is asked for, where it begins: its address
  /// takes as long to translate as a line to come (Zen 5, one core, fp32: 1.10 times as fast as
  /// four streams without). NOTES.md, "The third page after".
  Stream enter(std::int64_t page) const {
    if constexpr (kAsk == Ask::in_order) {
      constexpr int kLines = sizeof(T) == 1 ? 8 : 2;
      const std::int64_t row = row_of(page + 3 < last_page_ ? page + 3 : last_page_);
      prefetch<kAsk, kLines * kLine<T>>(a_.k + row * H);
      prefetch<kAsk, kLines * kLine<T>>(a_.v + row * H);
      if constexpr (std::is_same_v<T, std::int8_t>) {
        __builtin_prefetch(a_.k_scale + row);
        __builtin_prefetch(a_.v_scale + row);
      }
    }
    return {row_of(page), page, 0};
  }
  std::int64_t row_of(std::int64_t page) const {
    const std::int64_t at = first_page_ + page;
    return ((a_.table ? a_.table[at] : at) * a_.kv_heads + kv_head_) * a_.page_tokens;
  }

  const Args<T>& a_;
  std::int64_t first_page_, kv_head_, begin_, left_, last_page_, blocks_;
  int count_;  ///< of streams
  Stream streams_[kMostStreams];
};

}  // namespace
}  // namespace kernels::attention
