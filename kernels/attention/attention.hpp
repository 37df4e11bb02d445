// attention: decode attention, one query token for each sequence over its KV cache.
//   out[b][n][:] = sum_t softmax_t(q[b][n] . k[b][n / group][t] / sqrt(head_dim)) v[b][n /
//   group][t]
// q and out are fp32 [batch][heads][head_dim]; the dtype of a case is that of the cache. int8 has
// one fp32 scale for each (token, kv head), for K and for V apart: a value is scale * int8.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/dtype.hpp"
#include "kernels/op.hpp"
#include "kernels/shares.hpp"

namespace kernels::attention {

struct Shape {
  std::int64_t batch, context, heads, kv_heads, head_dim;
  std::int64_t page = 0;    ///< tokens a page; 0: contiguous
  bool ragged = false;      ///< sequences of several lengths, `context` the longest (GPU only)
  std::int64_t tokens = 0;  ///< where ragged: of all sequences together
};

/// A call's arguments. The cache is a pool of pages [page][kv_head][token in page][head_dim], K and
/// V apart, and the scales follow the same order without head_dim. Contiguous
/// ([batch][kv_head][token][head_dim], head-major) is the pool with one page of `context` tokens a
/// sequence, in order. Plain fields only: files of several instruction sets read this.
template <class T>
struct Args {
  std::int64_t batch, context, heads, kv_heads, head_dim;
  std::int64_t page_tokens;     ///< the context where contiguous
  std::int64_t sequence_pages;  ///< pages of one sequence
  const std::int32_t* table;    ///< [batch][sequence_pages] pages of the pool; null: in order
  const float* q;               ///< [batch][heads][head_dim]
  const T *k, *v;
  const float *k_scale, *v_scale;  ///< int8 only, else null
  float* out;                      ///< [batch][heads][head_dim]
  std::int64_t chunk_tokens;       ///< of one piece of work, in the rungs that split the context
  float* scratch;                  ///< scratch_floats()
  Share* shares;                   ///< one a thread, for the rungs that split the context
  int threads;
  Reading reading = Reading::into_l2;
  bool whole_pages = false;  ///< takes_whole_pages()
  void* state = nullptr;     ///< what Kernel::open made
};

/// One variant; null where it does not do the dtype. Inputs are finite, context >= 1, heads a
/// multiple of kv_heads.
struct Kernel {
  const char* exec_unit;  ///< empty: a library's, not known
  void (*f32)(const Args<float>&) = nullptr;
  void (*bf16)(const Args<kernels::bf16>&) = nullptr;
  void (*s8)(const Args<std::int8_t>&) = nullptr;
  /// Most query heads on one kv head; 0: any number.
  int max_group = 0;
  /// False: head_dim 64 and 128 only, as the register tiles are fixed.
  bool any_head_dim = false;
  /// K and V are read once for every query head, not once for all heads of their group.
  bool by_head = false;
  /// Query heads of a register tile of keys and of one of values, which are loaded once for them;
  /// 0: all of a group. (bf16 of avx512_split takes values of fewer where a group has up to four,
  /// and so do those four by four of a contiguous cache on Zen 4.)
  int key_heads = 0, value_heads = 0;
  /// Of a library nothing is known but what must come from main memory.
  bool known_traffic = true;
  /// Far too slow for the large cases, which it leaves out.
  bool naive = false;
  /// dtype of the compute roof: that of the multiply-adds, not of the cache.
  const char* roof = "f32";
  const char* s8_roof = "f32";
  /// int8 cache: how far queries are rounded, as a share of the largest of a head's query, and
  /// weights, as a share of a block's largest weight times its largest scale; 0: not beyond fp32.
  /// The oracle allows for it.
  double s8_rounding = 0, s8_weight_rounding = 0;
  /// bf16 cache: likewise, as a share of each query's element and of each weight.
  double bf16_rounding = 0;
  /// What a library does of the dtypes above; null: all of it.
  bool (*offers)(std::string_view dtype, const Shape&) = nullptr;
  /// What a library needs for the calls of one case on so many threads; null: nothing.
  std::shared_ptr<void> (*open)(int threads) = nullptr;
  /// Further `key=value;` text for the label, such as a library's version; null: none.
  std::string (*label)() = nullptr;
};

/// Largest relative error of the SIMD rungs' exponential (attention_exp.hpp; std::exp is closer).
inline constexpr double kExpError = 4e-7;

/// Of all sequences.
constexpr double all_tokens(const Shape& s) {
  return s.ragged ? 1.0 * s.tokens : 1.0 * s.batch * s.context;
}

/// K and V and their scales, each once.
constexpr double cache_bytes(const Shape& s, int element_bytes, int scale_bytes) {
  return 2.0 * s.kv_heads * all_tokens(s) * (s.head_dim * element_bytes + scale_bytes);
}

/// 4 b N S H: a multiply and an add for each score and each value. Softmax is not counted.
/// Bytes: the cache and its scales, the block table, q and out, each once.
constexpr Cost cost(const Shape& s, int element_bytes, int scale_bytes) {
  const double queries = 2.0 * s.batch * s.heads * s.head_dim * 4;
  const double table = s.page > 0 ? 4.0 * s.batch * ((s.context + s.page - 1) / s.page) : 0.0;
  return {4.0 * s.heads * all_tokens(s) * s.head_dim,
          cache_bytes(s, element_bytes, scale_bytes) + table + queries};
}

/// Bytes that cross each level. Into the core K and V cross once for each register tile's heads. Of
/// a variant that reads them by head, all of them cross heads / kv_heads times; from beyond a cache
/// that keeps those of one kv head they come once to every thread that has heads of its group. From
/// DRAM they come once: what is compulsory.
constexpr LevelBytes traffic(const Shape& s, int element_bytes, int scale_bytes,
                             const Kernel& kernel, int threads, const Caches& caches) {
  const double once = cost(s, element_bytes, scale_bytes).bytes;
  const double cache = cache_bytes(s, element_bytes, scale_bytes);
  const std::int64_t group = s.heads / s.kv_heads;
  if (!kernel.known_traffic) return {.dram = once};
  LevelBytes all{.l1 = once, .l2 = once, .l3 = once, .dram = once};
  if (!kernel.by_head) {
    for (const int heads : {kernel.key_heads, kernel.value_heads})
      if (heads > 0) all.l1 += cache / 2 * static_cast<double>((group + heads - 1) / heads - 1);
    return all;
  }
  const double of_one = cache / static_cast<double>(s.batch * s.kv_heads);
  const std::int64_t heads = (s.batch * s.heads + threads - 1) / threads,  // of a thread
      sharing = heads < group ? (group + heads - 1) / heads : 1;
  const auto with = [&](std::int64_t size) {
    const bool stays = of_one <= static_cast<double>(size);
    return once + cache * static_cast<double>((stays ? sharing : group) - 1);
  };
  all.l1 = with(0);
  all.l2 = with(caches.l1d);
  all.l3 = with(caches.l2);
  return all;
}

/// Whether pages are read one after the other, each with all of its kv heads, in place of one kv
/// head after the other (attention_pages.hpp): in the order of memory, where a page has 8 KB of K
/// and V of a head, as many as kernels work on at a time.
constexpr bool takes_whole_pages(const Shape& s, int element_bytes, Reading reading) {
  return s.kv_heads > 1 && 2 * s.page * s.head_dim * element_bytes >= 8 << 10 &&
         reading == Reading::in_order;
}

/// Tokens of one piece of work when the context is split: enough pieces to balance the threads
/// with, of a thousand tokens or more, so that set-up and combination do not weigh, as long as
/// every thread gets two.
constexpr std::int64_t chunk_tokens(const Shape& s, int threads, bool whole_pages) {
  constexpr std::int64_t kMostPieces = 8, kFewestPieces = 2;  // of a thread
  constexpr std::int64_t kWanted = 1024, kSmallest = 256, kGrain = 64;
  const auto tokens = [&](std::int64_t pieces) {
    const std::int64_t items = whole_pages ? s.batch : s.batch * s.kv_heads,
                       chunks = (pieces * threads + items - 1) / items;
    return (s.context + chunks - 1) / chunks;
  };
  const std::int64_t few = tokens(kFewestPieces), many = tokens(kMostPieces);
  const std::int64_t least = few < kSmallest ? kSmallest : few < kWanted ? few : kWanted;
  return ((many > least ? many : least) + kGrain - 1) / kGrain * kGrain;
}

/// What every variant may need between its steps: a row of scores a thread, or for each head and
/// chunk a partial result with its maximum and sum.
constexpr std::int64_t scratch_floats(const Shape& s, int threads, bool whole_pages) {
  const std::int64_t chunk = chunk_tokens(s, threads, whole_pages);
  const std::int64_t chunks = (s.context + chunk - 1) / chunk;
  const std::int64_t partials = s.batch * s.heads * chunks * (s.head_dim + 2);
  const std::int64_t scores = s.context * threads;
  return partials > scores ? partials : scores;
}

}  // namespace kernels::attention
