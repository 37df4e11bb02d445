// Pages with all of their kv heads, in the order of memory. Head by head a cache in pages at random
// is read in pieces of a few KB, page by page in pieces of kv_heads times as many, which a core
// follows farther ahead (Zen 5: NOTES.md, "Whole pages").
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention/attention_group.hpp"

namespace kernels::attention {
namespace {

/// Blocks of up to kBlock tokens of one kv head after the other, page by page.
template <class T, int kBlock>
class PageWalk {
 public:
  struct Block {
    std::int64_t rows[kBlock];  ///< of the pool; beyond `count` any
    std::int64_t kv_head;
    int count;  ///< of tokens; 0 behind the last block
  };

  /// The tokens [begin, end) of sequence b; `begin` begins a page.
  PageWalk(const Args<T>& a, std::int64_t b, std::int64_t begin, std::int64_t end)
      : a_(a),
        table_(a.table + b * a.sequence_pages),
        page_(begin / a.page_tokens),
        last_page_((end - 1) / a.page_tokens),
        end_(end) {}

  void next(Block& block) {
    const bool over = page_ > last_page_;
    const std::int64_t tokens = over ? 0 : least(end_ - page_ * a_.page_tokens, a_.page_tokens);
    block.kv_head = kv_head_;
    block.count = static_cast<int>(least(tokens - in_, kBlock));
    const std::int64_t row = row_of(over ? last_page_ : page_) + in_;
    for (int t = 0; t < kBlock; ++t) block.rows[t] = row + (t < block.count ? t : 0);
    if (kv_head_ == 0 && in_ == 0) ask_for_next_page();
    in_ += block.count;
    if (in_ < tokens) return;
    in_ = 0;
    if (++kv_head_ < a_.kv_heads) return;
    kv_head_ = 0;
    ++page_;
  }

 private:
  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  std::int64_t row_of(std::int64_t page) const {
    return (table_[page] * a_.kv_heads + kv_head_) * a_.page_tokens;
  }
  /// Where it begins: its address takes as long to translate as lines to come.
  void ask_for_next_page() const {
    constexpr int kLines = 4;
    const std::int64_t at = row_of(least(page_ + 1, last_page_)) * a_.head_dim;
    for (int line = 0; line < kLines; ++line) {
      __builtin_prefetch(a_.k + at + line * kLine<T>);
      __builtin_prefetch(a_.v + at + line * kLine<T>);
    }
  }

  const Args<T>& a_;
  const std::int32_t* table_;
  std::int64_t page_, last_page_, end_;
  std::int64_t kv_head_ = 0, in_ = 0;  ///< the token in the page
};

/// The tokens [begin, end) of a sequence, `begin` that of a page, by a Group for each of its kv
/// heads; `done(kv_head, group)` gets these in the end.
template <class Heads, class T, class Done>
void attend_pages(const Args<T>& a, std::int64_t b, std::int64_t begin, std::int64_t end,
                  Done done) {
  const std::int64_t heads = a.heads / a.kv_heads;
  static thread_local std::vector<Heads> groups;  // its memory is kept from call to call
  groups.clear();
  groups.reserve(a.kv_heads);
  for (std::int64_t i = 0; i < a.kv_heads; ++i)
    groups.emplace_back(a, a.q + (b * a.kv_heads + i) * heads * a.head_dim,
                        static_cast<int>(heads));
  using Walk = PageWalk<T, Heads::kMostTokens>;
  Walk walk(a, b, begin, end);
  typename Walk::Block blocks[2];
  walk.next(blocks[0]);
  for (int now = 0; blocks[now].count > 0; now ^= 1) {
    walk.next(blocks[now ^ 1]);
    take(groups[blocks[now].kv_head], blocks[now].rows, blocks[now].count, blocks[now ^ 1].rows);
  }
  for (std::int64_t i = 0; i < a.kv_heads; ++i) {
    groups[i].end();
    done(i, groups[i]);
  }
}

}  // namespace
}  // namespace kernels::attention
