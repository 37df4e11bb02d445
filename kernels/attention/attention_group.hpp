// Online softmax attention over blocks of tokens for a group of query heads that share a kv head,
// written once over an instruction set's vectors (kernels/simd/).
//
// A block's scores for all heads of the group are made first, then its maximum; what has been
// summed is rescaled once a block, and the exponentials are taken on whole vectors. Keys and values
// are widened to fp32 once for up to four heads, with 32 registers eight: a register tile is tokens
// x heads for the scores and heads x vectors of head_dim for the values, four to sixteen
// accumulators (kTokens, kPairs).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_exp.hpp"
#include "kernels/attention/attention_walk.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::attention {
namespace {

/// 2 F::kWidth values as two vectors, in an order of the type's own: bf16 comes as evens and odds.
template <class F, class T>
void load_pair(const T* p, typename F::V& a, typename F::V& b) {
  if constexpr (std::is_same_v<T, bf16>) {
    F::load_even_odd(p, a, b);
  } else {
    a = F::load(p);
    b = F::load(p + F::kWidth);
  }
}

/// A row of H values as load_pair() would bring it, times `factor`. Such whole loops become
/// vectors: element by element, what begins and ends a piece took 2.4 us of its 40 (bf16, 1024
/// tokens).
template <class F, class T, int H>
void to_positions(const float* __restrict row, float factor, float* __restrict out) {
  if constexpr (!std::is_same_v<T, bf16>) {
    for (int d = 0; d < H; ++d) out[d] = row[d] * factor;
  } else {
    for (int pair = 0; pair < H; pair += 2 * F::kWidth)
      for (int i = 0; i < F::kWidth; ++i) {
        out[pair + i] = row[pair + 2 * i] * factor;
        out[pair + i + F::kWidth] = row[pair + 2 * i + 1] * factor;
      }
  }
}
/// The inverse.
template <class F, class T, int H>
void from_positions(const float* __restrict in, float factor, float* __restrict row) {
  if constexpr (!std::is_same_v<T, bf16>) {
    for (int d = 0; d < H; ++d) row[d] = in[d] * factor;
  } else {
    for (int pair = 0; pair < H; pair += 2 * F::kWidth)
      for (int i = 0; i < F::kWidth; ++i) {
        row[pair + 2 * i] = in[pair + i] * factor;
        row[pair + 2 * i + 1] = in[pair + i + F::kWidth] * factor;
      }
  }
}

/// Tokens of a block: its K and V take 8 KB, so that the next block finds room beside it in L1. In
/// order fp32 has no more either (Zen 5, one core, groups of 4: 1.22 times as fast as with 16 KB):
/// NOTES.md, "Bytes of a block".
template <class T, int H, Ask kAsk = Ask::nothing>
constexpr int kBlockTokens = greater(kAsk == Ask::in_order && std::is_same_v<T, float> ? 8 : 16,
                                     lesser(64, 8 * 1024 / (2 * H * static_cast<int>(sizeof(T)))));

/// `G` query heads (a power of two up to 8) on one kv head of `H` dimensions, `kBlock` tokens at a
/// time, of which `kRun` lie one after the other.
template <class F, class T, int G, int H, Ask kAsk, int kBlock = kBlockTokens<T, H, kAsk>,
          int kRun = 1>
class Group {
 protected:
  using V = typename F::V;
  static constexpr int kWidth = F::kWidth, kPair = 2 * kWidth;
  static constexpr bool kManyRegisters = sizeof(V) == 64;  ///< 32 of them
  /// Heads of a register tile (Emerald Rapids, groups of 8, eight in place of four: bf16 1.07 to
  /// 1.08 times as fast, fp32 1.00 to 1.02): NOTES.md, "Heads of a tile".
  static constexpr int kHeads = lesser(G, kManyRegisters ? 8 : 4);
  /// Tokens of a score tile of four heads, of fewer, and of any, two of eight. In order few rows
  /// are open at a time (Zen 5, bf16 of one head: with eight 0.87 to 0.97 times as fast as with
  /// four): NOTES.md, "Tokens of a score tile".
  static constexpr int kOfFour = !std::is_same_v<T, float> ? 2 : kManyRegisters ? 1 : 3;
  static constexpr bool kFewOpen =
      kAsk == Ask::in_order || (kAsk == Ask::nothing && std::is_same_v<T, float>);
  static constexpr int kOfFewer = (kFewOpen ? 4 : 8) / kHeads;
  static constexpr int kTokens = kHeads < 4 ? kOfFewer : kHeads > 4 ? 2 : kOfFour;
  /// Heads and vector pairs of a value tile. Where registers allow it the pairs are a whole row, so
  /// that rows are read one after the other (bf16, one core of Zen 5, cold: 1.04 to 1.07 times as
  /// fast): NOTES.md, "Whole rows of values".
  static constexpr bool kWholeRows = kManyRegisters && std::is_same_v<T, bf16> && G <= 4;
  static constexpr int kValueHeads = kWholeRows ? lesser(G, 16 * kWidth / H) : kHeads;
  static constexpr int kPairs = kWholeRows ? H / kPair : lesser(greater(1, 4 / kHeads), H / kPair);
  static constexpr int kLanes = greater(kWidth, G);  ///< period of (token, head) in vectors
  static constexpr bool kAsks = kAsk != Ask::nothing;
  /// Whether a score tile is part of the loop over them. With 32 registers that lets the sums of
  /// one tile be added up beside the products of the next (Zen 4, int8 in L3: 1.14 times as fast);
  /// of 16 its sums need all. NOTES.md, "Score tiles in their loop".
  static constexpr bool kInlined = kManyRegisters;
  static constexpr bool kScaled = std::is_same_v<T, std::int8_t>;
  static constexpr int kScalesOfLine = 64 / sizeof(float);
  static_assert(H % (kPairs * kPair) == 0);

 public:
  using Walk = kernels::attention::Walk<T, G, H, kAsk, kBlock, kRun>;
  static constexpr bool kByRow = kRun == 1;  ///< tokens are not taken several at a time
  static constexpr int kMostTokens = kBlock;
  /// Whether blocks of tokens in order may be longer (Ask::by_l2_in_long_blocks).
  static constexpr bool kLongBlocks = false;
  /// Whether other groups may take in blocks between two of its own.
  static constexpr bool kInTurns = true;

  /// `q`: `heads` <= G rows; the rest of the group is padding. Scores come out in base 2.
  Group(const Args<T>& a, const float* q, int heads)
      : a_(a), heads_(heads), streams_(Walk::streams(a)) {
    const float scale = 1.44269504f / sqrtf(static_cast<float>(H));
    for (int g = 0; g < heads; ++g) to_positions<F, T, H>(q + g * H, scale, q_ + g * H);
    for (int i = heads * H; i < G * H; ++i) q_[i] = 0;
    for (float& x : acc_) x = 0;
    for (float& x : max_) x = -INFINITY;
    for (float& x : sum_) x = 0;
  }

  /// Before the first block.
  void begin() {}
  /// Of tokens that the next steps ask for, kMostTokens of them.
  void ask_for(const std::int64_t* next) { next_rows_ = next; }
  /// Behind the last block, before finish().
  void end() {}

  /// What a derived class does beside the weights of lanes i and up, of `end`.
  void beside_weights(int /*i*/, int /*end*/) {}

  /// Writes the heads' outputs.
  void finish(float* out) const {
    for (int g = 0; g < heads_; ++g)
      from_positions<F, T, H>(acc_ + g * H, 1 / total(g), out + g * H);
  }

  /// Writes each head's unscaled output, in the order that load_pair() makes of a row, then its
  /// maximum (base 2) and sum: H + 2 floats, heads `stride` apart.
  void finish_partial(float* partial, std::int64_t stride) const {
    for (int g = 0; g < heads_; ++g) {
      for (int d = 0; d < H; ++d) partial[g * stride + d] = acc_[g * H + d];
      partial[g * stride + H] = max_[g];
      partial[g * stride + H + 1] = total(g);
    }
  }

 protected:
  template <class Heads>
  friend void take(Heads& heads, const std::int64_t* rows, int count, const std::int64_t* next);

  /// The largest magnitude in head g's query.
  float largest_in_query(int g) const {
    V top = F::set1(1e-30f);
    for (int d = 0; d < H; d += kWidth) {
      const V x = F::load(q_ + g * H + d);
      top = F::max(top, F::max(x, F::sub(F::zero(), x)));
    }
    return F::max_of(top);
  }

  void prefetch_rows(const T* pool, int from, int to) const {
    for (int i = from; i < to; ++i) prefetch<kAsk, H>(pool + next_rows_[i] * H);
  }
  /// Of the next block's values one piece, for token t of `count` where columns from d on, to which
  /// `v` points, are worked on. Rows of fp32, of four pieces, in the order of memory (Zen 5, cold:
  /// 1.11 to 1.19 times as fast): NOTES.md, "Pieces of rows of values".
  static void prefetch_values(const T* v, const std::int64_t* next, int d, int t, int count) {
    constexpr int kPiece = kPairs * kPair, kPieces = H / kPiece;
    if constexpr (std::is_same_v<T, float>) {
      const int piece = d / kPiece * count + t;
      prefetch<kAsk, kPiece>(v - d + next[piece / kPieces] * H + piece % kPieces * kPiece);
    } else {
      prefetch<kAsk, kPiece>(v + next[t] * H);
    }
  }
  void prefetch_scales(const float* scales, int count) const {
    if constexpr (kAsks && kScaled) {
      const int step = streams_ == 1 ? kScalesOfLine : kRun;
      const int end = streams_ == 1 ? count : lesser(streams_ * kRun, count);
      for (int i = 0; i < end; i += step) __builtin_prefetch(scales + next_rows_[i], 0, 3);
    }
  }

  /// p_[token * G + head] = the scores, -infinity beyond the last token.
  void scores(const std::int64_t* rows, int count) {
    for (int t = 0; t < count; t += kTokens) {
      const T* k[kTokens];
      for (int i = 0; i < kTokens; ++i) k[i] = a_.k + rows[lesser(t + i, count - 1)] * H;
      if constexpr (kAsks) prefetch_rows(a_.k, t, lesser(t + kTokens, count));
      for (int g = 0; g < G; g += kHeads)
        if constexpr (kInlined)
          score_tile(k, q_ + g * H, p_ + t * G + g);
        else
          called_score_tile(k, q_ + g * H, p_ + t * G + g);
    }
    prefetch_scales(a_.k_scale, count);
    if constexpr (kScaled) {
      const Scales scales(*this, a_.k_scale, rows, count);
      for (int i = 0; i < count * G; i += kWidth)
        F::store(p_ + i, scaled(F::load(p_ + i), i, scales));
    }
    end_block(count, (count + kTokens - 1) / kTokens * kTokens);
  }

  /// -infinity for the tokens that only fill up the last tile or vector.
  void end_block(int count, int tiled) {
    for (int i = count * G; i < tiled * G || i % kLanes != 0; ++i) p_[i] = -INFINITY;
  }

  [[gnu::noinline]] static void called_score_tile(const T* const* k, const float* q, float* p) {
    score_tile(k, q, p);
  }
  [[gnu::always_inline]] static void score_tile(const T* const* k, const float* q, float* p) {
    V acc[kTokens][kHeads];
    const T* row[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      row[t] = k[t];
#pragma GCC unroll 8
      for (int g = 0; g < kHeads; ++g) acc[t][g] = F::zero();
    }
    if constexpr (kHeads >= 4) {
      // Keys in registers, each query loaded once for all of them.
      constexpr int kParts = std::is_same_v<T, float> ? 1 : 2;
#pragma GCC unroll 1
      for (int d = 0; d < H; d += kParts * kWidth) {
        V key[kTokens][2];
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t)
          if constexpr (kParts == 1)
            key[t][0] = F::load(row[t] + d);
          else
            load_pair<F>(row[t] + d, key[t][0], key[t][1]);
#pragma GCC unroll 8
        for (int g = 0; g < kHeads; ++g)
#pragma GCC unroll 2
          for (int part = 0; part < kParts; ++part) {
            V query = F::load(q + g * H + d + part * kWidth);
            opaque(query);  // as a memory operand it would be loaded for every token
#pragma GCC unroll 8
            for (int t = 0; t < kTokens; ++t) acc[t][g] = F::fma(key[t][part], query, acc[t][g]);
          }
      }
    } else {
      // Queries in registers, each key used at once.
#pragma GCC unroll 1
      for (int d = 0; d < H; d += kPair) {
        V query[kHeads][2];
#pragma GCC unroll 8
        for (int g = 0; g < kHeads; ++g) load_pair<F>(q + g * H + d, query[g][0], query[g][1]);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
          V key[2];
          load_pair<F>(row[t] + d, key[0], key[1]);
#pragma GCC unroll 8
          for (int g = 0; g < kHeads; ++g) {
            acc[t][g] = F::fma(key[0], query[g][0], acc[t][g]);
            acc[t][g] = F::fma(key[1], query[g][1], acc[t][g]);
          }
        }
      }
    }
    // Four sums at a time: four heads of a token, or as many tokens as make four.
#pragma GCC unroll 4
    for (int i = 0; i < kTokens * kHeads; i += 4)
      F::store_sums(p + i / kHeads * G + i % kHeads, acc[i / kHeads][i % kHeads],
                    acc[(i + 1) / kHeads][(i + 1) % kHeads],
                    acc[(i + 2) / kHeads][(i + 2) % kHeads],
                    acc[(i + 3) / kHeads][(i + 3) % kHeads]);
  }

  /// Scores to weights, in place: exp2 of the distance to the new maximum, times the value's scale.
  /// rescale_ = what each head's earlier sums are to be multiplied with.
  template <class Steps>
  void weights(const std::int64_t* rows, int count, Steps& steps) {
    constexpr int kVectors = kLanes / kWidth;
    const int end = (count * G + kLanes - 1) / kLanes * kLanes;
    V top[kVectors];
    for (int j = 0; j < kVectors; ++j) top[j] = F::load(max_ + j * kWidth);
    for (int i = 0; i < end; i += kLanes)
      for (int j = 0; j < kVectors; ++j) top[j] = F::max(top[j], F::load(p_ + i + j * kWidth));
    if constexpr (G < kWidth) top[0] = fold_max<G>(top[0]);
    V sum[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      const V rescale = exp2_normal<F>(F::sub(F::load(max_ + j * kWidth), top[j]));
      F::store(rescale_ + j * kWidth, rescale);
      F::store(max_ + j * kWidth, top[j]);
      sum[j] = F::mul(F::load(sum_ + j * kWidth), rescale);
    }
    const Scales scales(*this, a_.v_scale, rows, count);
    for (int i = 0; i < end; i += kLanes) {
      steps.beside_weights(i, end);
      for (int j = 0; j < kVectors; ++j) {
        const V p = exp2_normal<F>(F::sub(F::load(p_ + i + j * kWidth), top[j]));
        sum[j] = F::add(sum[j], p);
        F::store(p_ + i + j * kWidth, scaled(p, i, scales));
      }
    }
    for (int j = 0; j < kVectors; ++j) F::store(sum_ + j * kWidth, sum[j]);
  }

  /// Whether `run` tokens from t on, of one stream, are whole and in one piece.
  bool lies_together(const std::int64_t* rows, int t, int count, int run = kRun) const {
    return t + run <= count && a_.page_tokens >= run && rows[t + run - 1] == rows[t] + run - 1;
  }

  /// int8: scales of a block's tokens, 0 beyond the last.
  struct Scales {
    Scales(const Group& group, const float* scales, const std::int64_t* rows, int count) {
      if constexpr (kScaled) {
        const int run = group.streams_ == 1 ? kBlock : kRun;
        for (int t = 0; t < count; t += run)
          if (run > 1 && group.lies_together(rows, t, count, run))
            for (int i = 0; i < run; ++i) of_token[t + i] = scales[rows[t] + i];
          else
            for (int i = t; i < lesser(t + run, count); ++i) of_token[i] = scales[rows[i]];
        for (int t = count; t < kBlock + kWidth; ++t) of_token[t] = 0;
      }
    }
    float of_token[kScaled ? kBlock + kWidth : 1];
  };
  /// Lanes i, i + 1, … of p_ times their tokens' scales.
  static V scaled(V p, int i, const Scales& scales) {
    if constexpr (!kScaled) return p;
    return F::mul(p, F::template spread<lesser(G, kWidth)>(scales.of_token + i / G));
  }

  /// The maximum of the lanes `step`, 2 step, … apart, in each of them.
  template <int step>
  static V fold_max(V v) {
    v = F::max(v, F::template rotate<step>(v));
    if constexpr (2 * step < kWidth) v = fold_max<2 * step>(v);
    return v;
  }

  /// acc_ = acc_ * rescale_ + weights . values
  void values(const std::int64_t* rows, int count) {
    constexpr int kColumns = kPairs * kPair;
    for (int d = 0; d < H; d += kColumns)
      for (int g = 0; g < G; g += kValueHeads)
        value_tile(a_.v + d, d, rows, kAsks && g == 0 && d % kLine<T> == 0 ? next_rows_ : nullptr,
                   count, p_ + g, rescale_ + g, acc_ + g * H + d);
    prefetch_scales(a_.v_scale, count);
  }

  /// As score_tile(). A dozen lines at once would wait for each other, so they are asked for one by
  /// one, if `next` is not null (int8 on a Xeon with AMX: 6 %).
  [[gnu::noinline]] static void value_tile(const T* v, int d, const std::int64_t* rows,
                                           const std::int64_t* next, int count, const float* p,
                                           const float* rescale, float* out) {
    V acc[kValueHeads][2 * kPairs];
#pragma GCC unroll 8
    for (int i = 0; i < kValueHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < 2 * kPairs; ++j)
        acc[i][j] = F::mul(F::load(out + i * H + j * kWidth), F::set1(rescale[i]));
#pragma GCC unroll 1
    for (int t = 0; t < count; ++t, p += G) {
      const T* row = v + rows[t] * H;
      if (next != nullptr) prefetch_values(v, next, d, t, count);
#pragma GCC unroll 8
      for (int j = 0; j < kPairs; ++j) {
        V v0, v1;
        load_pair<F>(row + j * kPair, v0, v1);
#pragma GCC unroll 8
        for (int i = 0; i < kValueHeads; ++i) {
          const V weight = F::set1(p[i]);
          acc[i][2 * j] = F::fma(weight, v0, acc[i][2 * j]);
          acc[i][2 * j + 1] = F::fma(weight, v1, acc[i][2 * j + 1]);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kValueHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < 2 * kPairs; ++j) F::store(out + i * H + j * kWidth, acc[i][j]);
  }

  float total(int g) const {
    float sum = 0;
    for (int i = g; i < kLanes; i += G) sum += sum_[i];
    return sum;
  }

  const Args<T>& a_;
  int heads_, streams_;
  const std::int64_t* next_rows_ = nullptr;  ///< for each token of this block one to ask for
  alignas(64) float q_[G * H];
  alignas(64) float acc_[G * H];
  alignas(64) float p_[(kBlock + kTokens) * G + kLanes];
  /// One value for each lane: head g in the lanes g, g + G, …
  alignas(64) float max_[kLanes], sum_[kLanes], rescale_[kLanes];
};

/// Has a Group, by its own scores(), weights() and values(), take in a block of `count` tokens, up
/// to kMostTokens, and ask for the kMostTokens of `next`: rows of the pool.
template <class Heads>
void take(Heads& heads, const std::int64_t* rows, int count, const std::int64_t* next) {
  heads.ask_for(next);
  heads.scores(rows, count);
  heads.weights(rows, count, heads);
  heads.values(rows, count);
}

/// Has a Group take in the tokens [begin, end) of a sequence's kv head.
template <class Heads, class T>
void attend(Heads& heads, const Args<T>& a, std::int64_t b, std::int64_t kv_head,
            std::int64_t begin, std::int64_t end) {
  constexpr int kBlock = Heads::kMostTokens;
  typename Heads::Walk walk(a, b, kv_head, begin, end);
  std::int64_t rows[2][kBlock] = {}, first[kBlock];
  int count = walk.next(rows[0]);
  for (int i = 0; i < kBlock; ++i) first[i] = rows[0][i < count ? i : 0];
  heads.begin();
  for (int now = 0; count > 0; now ^= 1) {
    const int next = walk.next(rows[now ^ 1]);
    // Behind the last tokens those of the piece that follows, which is mostly taken next.
    for (int i = next; i < kBlock; ++i)
      rows[now ^ 1][i] = a.table == nullptr ? first[i] + end - begin : rows[now][0];
    take(heads, rows[now], count, rows[now ^ 1]);
    count = next;
  }
  heads.end();
}

}  // namespace
}  // namespace kernels::attention
