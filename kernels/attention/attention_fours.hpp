// The steps of Group (attention_group.hpp) on 512-bit vectors, tokens four by four. Four tokens
// that lie together are one address; any others are copied together first. A score tile is 16 sums,
// of four tokens for each of four heads, or of as many fours as make 16 with fewer heads: they are
// added up together, which leaves one vector of scores, [four][head][4 tokens]. Weights keep that
// order.
//
// Addresses are worked out by scalars, a tile's in its own registers: where GCC made vectors of
// them, they waited behind the products of the tile before. NOTES.md, "Addresses by scalars".
#pragma once

#include "kernels/attention/attention_group.hpp"
#include "kernels/simd/avx512.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::attention {
namespace {

/// Tokens of a block: in a head's own score tile all of 16, where nothing is asked for as many as
/// in order, in long ones twice as many. NOTES.md, "Tokens of a block, four by four".
template <class T, int G, int H, Ask kAsk>
constexpr int kFoursBlock = greater(kBlockTokens<T, H, kAsk == Ask::nothing ? Ask::in_order : kAsk>,
                                    16 / G) *
                            (kAsk == Ask::by_l2_in_long_blocks ? 2 : 1);

template <class F, class T, int G, int H, Ask kAsk>
class FoursGroup : public Group<F, T, G, H, kAsk, kFoursBlock<T, G, H, kAsk>, 4> {
  using Base = Group<F, T, G, H, kAsk, kFoursBlock<T, G, H, kAsk>, 4>;

 public:
  /// In groups of 8 what a block takes beside its multiply-adds is a share of them that counts (one
  /// core of Zen 4, cold, bf16 and int8: 1.06 to 1.10 times as fast). NOTES.md, "Tokens of a block,
  /// four by four".
  static constexpr bool kLongBlocks = G == 8 && sizeof(T) < 4;

 protected:
  using Base::a_, Base::p_, Base::next_rows_;
  using V = __m512;
  static constexpr int kBlock = kFoursBlock<T, G, H, kAsk>, kWidth = 16;
  static constexpr int kHeads = lesser(G, 4);           ///< of a tile
  static constexpr int kFours = 4 / kHeads;             ///< of a score tile
  static constexpr int kVectors = kBlock * G / kWidth;  ///< of a block's scores
  static constexpr int kOwn = greater(1, G / 4);  ///< vectors after which the heads come again
  static constexpr int kFourLines = 4 * H / kLine<T>;
  static_assert(kBlock % (4 * kFours) == 0);
  /// Whether lines are loaded in the order of memory, row after row, and none is asked for: so the
  /// hardware of Zen 4 follows them as it does nothing that is asked for (one core, cold: 1.3
  /// to 1.6 times as fast). NOTES.md, "Lines left to the hardware".
  static constexpr bool kPlain = kAsk == Ask::nothing;
  /// Heads of a value tile, of which few leave registers for whole rows.
  static constexpr int kValueHeads = kPlain ? lesser(G, 2) : kHeads;

  using Base::Base;

  /// Requests for the lines of fours: the block after this one's, and once more those of half a
  /// block on, in time for what Zen 5 had no room for and dropped, and out of L2 on Intel and Zen
  /// 4, whose L1 waits for fewer lines than L2 (one core, cold, groups of 4: 1.15 and 1.08 to 1.15
  /// times as fast): NOTES.md, "Lines prefetched twice".
  struct Asks {
    const T *once, *again;
    /// In assembly, which GCC leaves in place: others it puts before all of a tile's loads (groups
    /// of 4 and 8 0.96).
    template <bool kIntoL2>
    static void ask_for_line(const T* line) {
      if constexpr (kIntoL2)
        asm volatile("prefetcht1 %0" ::"m"(*line));
      else
        asm volatile("prefetcht0 %0" ::"m"(*line));
    }
    /// Lines `from` to `to` of the four.
    void ask(int from, int to) const {
      for (int line = from; line < to; ++line) {
        ask_for_line<kAsk != Ask::in_order>(once + line * kLine<T>);
        ask_for_line<false>(again + line * kLine<T>);
      }
    }
  };
  Asks asks_of_keys(int four) const { return {next_k_[four], v_[four]}; }
  /// Part `part` of `parts` that values are worked on in, in which each of its fours asks for as
  /// many lines as follow.
  template <int parts>
  Asks asks_of_values(int part, int four) const {
    const int at = part * fours_ + four;
    const std::int64_t lines = at % parts * (4 * H / parts);
    return {next_v_[at / parts] + lines, next_k_[at / parts] + lines};
  }

  /// `tile(first four)` for all that the block has; scores of tokens that are missing are
  /// -infinity.
  template <class Tile>
  void score_tiles(const std::int64_t* rows, int count, Tile tile) {
    fours_ = (count + 3) / 4;
    point_at(rows, count);
    for (int f = 0; f < fours_; f += kFours) tile(f);
    for (int t = count; t < kBlock; ++t)
      for (int g = 0; g < G; ++g) p_[(t / 4 * G + g) * 4 + t % 4] = -INFINITY;
  }

  /// `tile(first head, tile, part)` for the heads and the `tiles` of values across a row.
  template <int tiles, class Tile>
  void value_tiles(Tile tile) {
    int part = 0;
    for (int i = 0; i < tiles; ++i)
      for (int g = 0; g < G; g += kValueHeads) tile(g, i, part++);
  }

  /// The highest of the block's vectors of the same heads as vector i.
  V highest_of_block(int i) const {
    V highest = F::load(p_ + i * kWidth);
    for (int j = i + kOwn; j < kVectors; j += kOwn)
      highest = F::max(highest, F::load(p_ + j * kWidth));
    return highest;
  }

  /// What is in the quarters of two vectors, added up in pairs.
  static V quarters(V a, V b) {
    return F::add(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  /// In each quarter that of the lane with the highest value, of heads that lie in several of all.
  static V highest_of_heads(V v) {
    v = F::max(v, _mm512_permute_ps(v, 0xb1));
    v = F::max(v, _mm512_permute_ps(v, 0x4e));
    if constexpr (G <= 2) v = F::max(v, _mm512_shuffle_f32x4(v, v, 0x4e));
    if constexpr (G == 1) v = F::max(v, _mm512_shuffle_f32x4(v, v, 0xb1));
    return v;
  }
  /// Where head g's lanes begin in kOwn vectors of one value a head.
  static constexpr int lane_of(int g) { return 4 * g; }
  /// The sum of head g's lanes in kOwn vectors.
  static float sum_of_head(const float* lanes, int g) {
    float sum = 0;
    for (int i = 0; i < kOwn * kWidth; ++i)
      if (i / 4 % G == g) sum += lanes[i];
    return sum;
  }
  /// Head g's maximum and sum, for finish().
  void leave(int g, float highest, float sum) {
    for (int i = g; i < Base::kLanes; i += G) {
      this->max_[i] = highest;
      this->sum_[i] = i == g ? sum : 0;
    }
  }

 private:
  void point_at(const std::int64_t* rows, int count) {
    for (int f = 0; f < fours_; ++f) {
      const bool together = this->lies_together(rows, 4 * f, count);
      const auto where = [&]<int n>(const auto* pool, auto* copies) {
        return together ? pool + rows[4 * f] * n : copied<n>(pool, rows, f, count, copies);
      };
      k_[f] = where.template operator()<H>(a_.k, copied_k_);
      v_[f] = where.template operator()<H>(a_.v, copied_v_);
      if constexpr (Base::kScaled) {
        k_scales_[f] = where.template operator()<1>(a_.k_scale, copied_k_scales_);
        v_scales_[f] = where.template operator()<1>(a_.v_scale, copied_v_scales_);
      }
    }
    for (int f = fours_; f % kFours != 0; ++f) {
      k_[f] = k_[fours_ - 1];
      v_[f] = v_[fours_ - 1];
      if constexpr (Base::kScaled) {
        k_scales_[f] = k_scales_[fours_ - 1];
        v_scales_[f] = v_scales_[fours_ - 1];
      }
    }
    for (int f = 0; f < kBlock / 4; ++f) {
      next_k_[f] = a_.k + next_rows_[4 * f] * H;
      next_v_[f] = a_.v + next_rows_[4 * f] * H;
    }
  }
  /// Four f's rows of n values, the last one instead of those that are missing.
  template <int n, class Value>
  static const Value* copied(const Value* pool, const std::int64_t* rows, int f, int count,
                             Value* to) {
    for (int t = 4 * f; t < 4 * f + 4; ++t)
      std::memcpy(to + t * n, pool + rows[lesser(t, count - 1)] * n, n * sizeof(Value));
    return to + 4 * f * n;
  }

 protected:
  int fours_ = 0;                            ///< of the block, the last one filled up
  const T *k_[kBlock / 4], *v_[kBlock / 4];  ///< where they lie
  const T *next_k_[kBlock / 4], *next_v_[kBlock / 4];
  const float *k_scales_[kBlock / 4], *v_scales_[kBlock / 4];  ///< int8 only

 private:
  alignas(64) T copied_k_[kBlock * H], copied_v_[kBlock * H];
  float copied_k_scales_[Base::kScaled ? kBlock : 1], copied_v_scales_[Base::kScaled ? kBlock : 1];
};

/// Scores and weights in fp32, over an `Element`'s V load(const T*) of kWidth elements and
/// V dot(V sums, V x, V y).
///
/// Sums are rescaled only when a score lies more than kMostAbove above what weights are taken from,
/// which then becomes the maximum (as in FlashAttention-4): fp32 has room for weights above 1, and
/// exponentials need not wait for a block's maximum.
template <class Element, class F, class T, int G, int H, Ask kAsk>
class LazyGroup : public FoursGroup<F, T, G, H, kAsk> {
  using Base = FoursGroup<F, T, G, H, kAsk>;

 protected:
  using Base::acc_, Base::fours_, Base::k_, Base::kFourLines, Base::kFours, Base::kHeads,
      Base::kOwn, Base::kPlain, Base::kValueHeads, Base::kVectors, Base::kWidth, Base::p_, Base::v_;
  using typename Base::Asks, typename Base::V;
  static constexpr float kMostAbove = 8;

 public:
  LazyGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int i = 0; i < kOwn * kWidth; ++i) from_[i] = -INFINITY, totals_[i] = 0;
  }

  void scores(const std::int64_t* rows, int count) {
    this->score_tiles(rows, count, [&](int f) {
      score_tile<!kPlain>(f, 0);
      for (int g = kHeads; g < G; g += kHeads) score_tile<false>(f, g);
    });
  }

 protected:
  /// Scores to weights: `store(i, weights)` of vector i.
  template <class Store>
  void take_weights(Store store) {
    V highest[kOwn], from[kOwn], total[kOwn];
    bool above = false;
    for (int i = 0; i < kOwn; ++i) {
      highest[i] = this->highest_of_block(i);
      const V most = F::add(F::load(from_ + i * kWidth), F::set1(kMostAbove));
      above |= _mm512_cmp_ps_mask(highest[i], most, _CMP_GT_OQ) != 0;
    }
    if (__builtin_expect(above, 0)) rescale(highest);
    for (int i = 0; i < kOwn; ++i) {
      from[i] = F::load(from_ + i * kWidth);
      total[i] = F::load(totals_ + i * kWidth);
    }
    for (int i = 0; i < kVectors; ++i) {
      const V weights = exp2_normal<F>(F::sub(F::load(p_ + i * kWidth), from[i % kOwn]));
      total[i % kOwn] = F::add(total[i % kOwn], weights);
      store(i, weights);
    }
    for (int i = 0; i < kOwn; ++i) F::store(totals_ + i * kWidth, total[i]);
  }

  /// Adds values to the heads' sums: of each four `add(sum, rows, weights, asks)`, whose `rows` and
  /// `weights` begin at the tile's first column and head.
  template <class Add>
  void add_values(Add add) {
    this->template value_tiles<kTiles>(
        [&](int g, int tile, int part) { value_tile(g, tile, part, add); });
  }
  static constexpr int kTileVectors = lesser(H / kWidth, 16 / kValueHeads);
  using TileSums = V[kValueHeads][kTileVectors];
  static constexpr int kTiles = H / kWidth / kTileVectors;  ///< of values across a row
  /// Lines that a four of a tile asks for.
  static constexpr int kTileLines = kFourLines / (kTiles * (G / kValueHeads));

  /// The beginnings of `rows` rows, row after row, before anything is made of them.
  template <int rows, int n>
  [[gnu::always_inline]] static void load_in_order(const T* from, V (&to)[rows][n]) {
#pragma GCC unroll 2
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) {
        to[row][i] = Element::load(from + row * H + i * Element::kWidth);
        opaque(to[row][i]);
      }
  }

  void leave_sums() {
    for (int g = 0; g < G; ++g)
      this->leave(g, from_[Base::lane_of(g)], Base::sum_of_head(totals_, g));
  }

  alignas(64) T query_[G * H];  ///< [head][H], scaled for scores in base 2
  alignas(64) T weights_[greater(kVectors, 2) * kWidth];  ///< [four][head][4 tokens]

 private:
  /// Lane i = the sum of v[i]'s lanes.
  static V sums(const V (&v)[16]) {
    const auto pairs = [](V a, V b) {
      return F::add(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    };
    const auto four = [&](const V* v) {
      const __m512d ab = _mm512_castps_pd(pairs(v[0], v[1])),
                    cd = _mm512_castps_pd(pairs(v[2], v[3]));
      return F::add(_mm512_castpd_ps(_mm512_unpacklo_pd(ab, cd)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(ab, cd)));
    };
    return Base::quarters(Base::quarters(four(v), four(v + 4)),
                          Base::quarters(four(v + 8), four(v + 12)));
  }

  /// Two rows of keys at a time, which the hardware follows better than four. In the order of
  /// memory they are loaded before they are used, as many as 8 registers hold. NOTES.md, "Tokens of
  /// a score tile".
  template <bool asks>
  [[gnu::noinline]] void score_tile(int four, int head) {
    constexpr int kSteps = H / Element::kWidth, kOpen = kPlain ? lesser(2, 8 / kSteps) : 2;
    const T* const q = query_ + head * H;
    V sum[kFours][kHeads][4];
#pragma GCC unroll 4
    for (int f = 0; f < kFours; ++f)
#pragma GCC unroll 4
      for (int g = 0; g < kHeads; ++g)
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) sum[f][g][t] = F::zero();
#pragma GCC unroll 4
    for (int f = 0; f < kFours; ++f) {
      const T* const keys = k_[four + f];
#pragma GCC unroll 2
      for (int row = 0; row < 4; row += kOpen) {
        V loaded[kOpen][kSteps];
        if constexpr (kPlain) load_in_order(keys + row * H, loaded);
#pragma GCC unroll 8
        for (int step = 0; step < kSteps; ++step) {
          if constexpr (asks) {
            constexpr int kParts = 4 / kOpen * kSteps;
            const int part = row / kOpen * kSteps + step;
            this->asks_of_keys(four + f).ask(part * kFourLines / kParts,
                                             (part + 1) * kFourLines / kParts);
          }
          V query[kHeads];
#pragma GCC unroll 4
          for (int g = 0; g < kHeads; ++g)
            query[g] = Element::load(q + g * H + step * Element::kWidth);
#pragma GCC unroll 2
          for (int t = row; t < row + kOpen; ++t) {
            const V key = kPlain ? loaded[t - row][step]
                                 : Element::load(keys + t * H + step * Element::kWidth);
#pragma GCC unroll 4
            for (int g = 0; g < kHeads; ++g)
              sum[f][g][t] = Element::dot(sum[f][g][t], key, query[g]);
          }
        }
      }
    }
    V all[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) all[i] = sum[i / 4 / kHeads][i / 4 % kHeads][i % 4];
    F::store(p_ + (four * G + head) * 4, sums(all));
  }

  template <class Add>
  [[gnu::noinline]] void value_tile(int g, int tile, int part, Add add) {
    float* const out = acc_ + g * H + tile * kTileVectors * kWidth;
    TileSums sum;
#pragma GCC unroll 4
    for (int i = 0; i < kValueHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = F::load(out + i * H + j * kWidth);
    const T* p = weights_ + 4 * g;
#pragma GCC unroll 1
    for (int f = 0; f < fours_; ++f, p += 4 * G)
      add(sum, v_[f] + tile * kTileVectors * kWidth, p,
          this->template asks_of_values<kTiles*(G / kValueHeads)>(part, f));
#pragma GCC unroll 4
    for (int i = 0; i < kValueHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) F::store(out + i * H + j * kWidth, sum[i][j]);
  }

  [[gnu::noinline]] void rescale(const V* highest) {
    for (int i = 0; i < kOwn; ++i) {
      const V old = F::load(from_ + i * kWidth),
              now = F::max(old, Base::highest_of_heads(highest[i]));
      const V factor = exp2_normal<F>(F::sub(old, now));
      F::store(from_ + i * kWidth, now);
      F::store(totals_ + i * kWidth, F::mul(F::load(totals_ + i * kWidth), factor));
      alignas(64) float each[kWidth];
      F::store(each, factor);
      for (int g = 0; g < kHeads; ++g)
        for (int d = 0; d < H; d += kWidth) {
          float* const at = acc_ + (i * kHeads + g) * H + d;
          F::store(at, F::mul(F::load(at), F::set1(each[Base::lane_of(g)])));
        }
    }
  }

  /// What weights are taken from and their sums, kOwn vectors of [head][4].
  alignas(64) float from_[kOwn * kWidth], totals_[kOwn * kWidth];
};

}  // namespace
}  // namespace kernels::attention
