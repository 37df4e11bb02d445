// The steps of Group (attention_group.hpp) on an int8 cache that stays integers: queries and
// weights are rounded to 16 bits, and 16-bit pairs are multiplied and added into 32-bit lanes.
//
// Written over an instruction set's `Words`, whose vectors have kWidth lanes of 32 bits:
//   kHeads                most query heads of a register tile
//   kBias                 what widen() and widen_pairs() add to every value
//   round(v)              floats to the nearest integers
//   add_products(s, a, b) s += the sums of products of 16-bit pairs
//   sums(v)               lane i = the sum of v[i]'s lanes, of kWidth vectors
//   widen(p, w)           4 kWidth bytes as two vectors of words, in an order of its own, in which
//   store_query(v, q)     puts the words of 4 kWidth integers
//   widen_pairs(a, b, w)  2 kWidth bytes of two rows as words side by side, two vectors of them
//   in_order(v)           the sums that come of these, in the order of the row
//   join<G>(a, b)         16-bit integers [token][G heads] as [pair of tokens][G heads][2]
#pragma once

#include "kernels/attention/attention_group.hpp"

namespace kernels::attention {
namespace {

constexpr float kLargest = 32767;

/// Scores that come as sums of integers, and a block's weights in units of their own: no maximum is
/// looked for twice, and nothing but the units depends on the blocks before:
/// NOTES.md, "A block's units".
///
/// Lanes hold at most head_dim / kWidth (scores) and kBlock / 2 (values) sums of two products of
/// 2^15 x 2^8, below 2^31.
template <class Words, class F, class T, int G, int H, Ask kAsk>
class IntegerGroup : public Group<F, T, G, H, kAsk> {
  using Base = Group<F, T, G, H, kAsk>;
  using Base::a_, Base::p_, Base::q_, Base::acc_, Base::max_, Base::sum_, Base::rescale_,
      Base::next_rows_;
  using V = typename Words::V;
  static constexpr int kBlock = kBlockTokens<T, H>, kWidth = Words::kWidth, kStep = 2 * kWidth;
  static constexpr int kHeads = lesser(G, Words::kHeads);  ///< heads of a register tile
  static constexpr int kTokens = kWidth / kHeads;          ///< tokens of a score tile
  static constexpr int kVectors = lesser(kWidth / kHeads, H / kWidth);  ///< of a value tile
  static_assert(kBlock % kTokens == 0 && kBlock <= 64 && kBlock * G % kWidth == 0 && G <= kWidth);
  static_assert(H % (4 * kWidth) == 0 && kVectors % 2 == 0);

 public:
  IntegerGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int g = 0; g < G; ++g) round_query(g);
  }

  void scores(const std::int64_t* rows, int count) {
    for (int t = 0; t < count; t += kTokens) {
      const std::int8_t* k[kTokens];
      for (int i = 0; i < kTokens; ++i) k[i] = a_.k + rows[lesser(t + i, count - 1)] * H;
      if constexpr (Base::kAsks) this->prefetch_rows(a_.k, t, lesser(t + kTokens, count));
      for (int g = 0; g < G; g += kHeads)
        if constexpr (Base::kInlined)
          score_tile(k, integer_q_ + g * H, p_ + t * G + g);
        else
          called_score_tile(k, integer_q_ + g * H, p_ + t * G + g);
    }
    scale_scores(rows, count, (count + kTokens - 1) / kTokens * kTokens);
  }

  /// integer_p_[token / 2 * G + head] = two tokens' weights.
  template <class Steps>
  void weights(const std::int64_t* rows, int count, Steps&) {
    V total = Words::zero();
    round_weights(rows, count, kLargest, [&](int i, V a, V b) {
      Words::store(integer_p_ + i / 2, Words::template join<G>(a, b));
      if constexpr (Words::kBias != 0) total = Words::add(total, Words::add(a, b));
    });
    if constexpr (Words::kBias != 0) {
      const Lanes sum = sum_of<G>(total);
      for (int g = 0; g < G; ++g) p_bias_[g] = Words::kBias * sum[g];
    }
  }

  void values(const std::int64_t* rows, int count) {
    std::int64_t at[kBlock];  // bytes; an odd last token comes with itself, at weight 0
    for (int t = 0; t < count; ++t) at[t] = rows[t] * H;
    if (count % 2 != 0) at[count] = at[count - 1];
    constexpr int kColumns = kWidth * kVectors;
    for (int d = 0; d < H; d += kColumns)
      for (int g = 0; g < G; g += kHeads)
        value_tile(a_.v + d, at, Base::kAsks && g == 0 && d % kLine<T> == 0 ? next_rows_ : nullptr,
                   (count + 1) / 2, integer_p_ + g, rescale_ + g, p_step_ + g, p_bias_ + g,
                   acc_ + g * H + d);
    this->prefetch_scales(a_.v_scale, count);
  }

 private:
  void set_query_units(int g, float step, std::int32_t bias) {
    for (int i = g; i < kWidth; i += G) {
      q_step_[i] = step;
      q_bias_[i] = bias;
    }
  }

  /// p_, sums of integers for `tiled` tokens, to scores.
  void scale_scores(const std::int64_t* rows, int count, int tiled) {
    this->prefetch_scales(this->a_.k_scale, count);
    const auto step = F::load(q_step_);
    const V bias = Words::load(q_bias_);
    const typename Base::Scales scales(*this, this->a_.k_scale, rows, count);
    for (int i = 0; i < count * G; i += kWidth) {
      const V sum = Words::sub(Words::load(p_ + i), bias);
      F::store(p_ + i, Base::scaled(F::mul(Words::to_float(sum), step), i, scales));
    }
    this->end_block(count, tiled);
  }

  /// Scores to weights in units of p_step_, such that the block's largest weight times its largest
  /// scale, of any head, is at most `largest`; kStep at a time to `store(i, lanes i.., kWidth
  /// more)`.
  template <class Store>
  void round_weights(const std::int64_t* rows, int count, float largest, Store store) {
    const int end = (count * G + kStep - 1) / kStep * kStep;
    for (int i = (count * G + kWidth - 1) / kWidth * kWidth; i < end; ++i) p_[i] = -INFINITY;
    const typename Base::Scales scales(*this, this->a_.v_scale, rows, count);
    auto scale = F::set1(1e-30f);  // weights below it vanish in the sum
    for (int t = 0; t < count; t += kWidth) scale = F::max(scale, F::load(scales.of_token + t));
    const float unit = F::max_of(scale) / largest;
    const auto inverse = F::set1(1 / unit);

    auto top = F::load(p_), other = F::load(p_ + kWidth);
    for (int i = kStep; i < end; i += kStep) {
      top = F::max(top, F::load(p_ + i));
      other = F::max(other, F::load(p_ + i + kWidth));
    }
    top = F::max(top, other);
    if constexpr (G < kWidth) top = Base::template fold_max<G>(top);
    const auto old = F::load(max_), now = F::max(old, top);
    const auto rescale = exp2_normal<F>(F::sub(old, now)),
               of_block = exp2_normal<F>(F::sub(top, now));
    F::store(max_, now);
    F::store(rescale_, rescale);
    F::store(p_step_, F::mul(of_block, F::set1(unit)));

    auto sum = F::zero(), sum_of_others = F::zero();
    for (int i = 0; i < end; i += kStep) {
      const auto a = exp2_normal<F>(F::sub(F::load(p_ + i), top));
      const auto b = exp2_normal<F>(F::sub(F::load(p_ + i + kWidth), top));
      sum = F::add(sum, a);
      sum_of_others = F::add(sum_of_others, b);
      store(i, Words::round(Base::scaled(F::mul(a, inverse), i, scales)),
            Words::round(Base::scaled(F::mul(b, inverse), i + kWidth, scales)));
    }
    sum = F::mul(F::add(sum, sum_of_others), of_block);
    F::store(sum_, F::fma(F::load(sum_), rescale, sum));
  }

  void round_query(int g) {
    const float* q = q_ + g * H;
    const float largest = this->largest_in_query(g);
    const auto scale = F::set1(kLargest / largest);
    V sum = Words::zero();
    for (int d = 0; d < H; d += 4 * kWidth) {
      V rounded[4];
      for (int i = 0; i < 4; ++i) {
        rounded[i] = Words::round(F::mul(F::load(q + d + i * kWidth), scale));
        sum = Words::add(sum, rounded[i]);
      }
      Words::store_query(rounded, integer_q_ + g * H + d);
    }
    const std::int32_t total = Words::kBias == 0 ? 0 : sum_of<1>(sum)[0];
    set_query_units(g, largest / kLargest, Words::kBias * total);
  }

  struct Lanes {
    alignas(64) std::int32_t lane[kWidth];
    std::int32_t operator[](int i) const { return lane[i]; }
  };
  /// Lane g < `period`: the sum of the lanes g, g + period, …
  template <int period>
  static Lanes sum_of(V v) {
    Lanes sum;
    Words::store(sum.lane, v);
    for (int i = period; i < kWidth; ++i) sum.lane[i % period] += sum.lane[i];
    return sum;
  }

  [[gnu::noinline]] static void called_score_tile(const std::int8_t* const* k,
                                                  const std::int16_t* q, float* p) {
    score_tile(k, q, p);
  }
  /// p[token * G + head] = the sums, as integers.
  [[gnu::always_inline]] static void score_tile(const std::int8_t* const* k, const std::int16_t* q,
                                                float* p) {
    V acc[kWidth];  // [token][head]
    const std::int8_t* row[kTokens];
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) row[t] = k[t];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) acc[i] = Words::zero();
#pragma GCC unroll 1
    for (int d = 0; d < H; d += 4 * kWidth) {
      V key[kTokens][2];
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) Words::widen(row[t] + d, key[t]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
#pragma GCC unroll 8
        for (int g = 0; g < kHeads; ++g) {
          const V query = Words::load(q + g * H + d + 2 * kWidth * half);
#pragma GCC unroll 16
          for (int t = 0; t < kTokens; ++t)
            Words::add_products(acc[t * kHeads + g], key[t][half], query);
        }
    }
    const V sums = Words::sums(acc);
    if constexpr (kHeads == G) {
      Words::store(p, sums);
    } else {
      alignas(64) float each[kWidth];
      Words::store(each, sums);
      for (int t = 0; t < kTokens; ++t)
        for (int g = 0; g < kHeads; ++g) p[t * G + g] = each[t * kHeads + g];
    }
  }

  [[gnu::noinline]] static void value_tile(const std::int8_t* v, const std::int64_t* at,
                                           const std::int64_t* next, int pairs,
                                           const std::int32_t* p, const float* rescale,
                                           const float* step, const std::int32_t* bias,
                                           float* out) {
    V acc[kHeads][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) acc[i][j] = Words::zero();
#pragma GCC unroll 1
    for (int t = 0; t < pairs; ++t, p += G) {
      const std::int8_t *even = v + at[2 * t], *odd = v + at[2 * t + 1];
      if (next != nullptr)
        for (int i = 2 * t; i < 2 * t + 2; ++i) prefetch<kAsk, kWidth * kVectors>(v + next[i] * H);
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; j += 2) {
        V pair[2];
        Words::widen_pairs(even + kWidth * j, odd + kWidth * j, pair);
#pragma GCC unroll 8
        for (int i = 0; i < kHeads; ++i) {
          const V weight = Words::set1(p[i]);
          Words::add_products(acc[i][j], weight, pair[0]);
          Words::add_products(acc[i][j + 1], weight, pair[1]);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; j += 2) {
        Words::in_order(&acc[i][j]);
#pragma GCC unroll 2
        for (int n = j; n < j + 2; ++n) {
          float* to = out + i * H + n * kWidth;
          const V sum = Words::sub(acc[i][n], Words::set1(bias[i]));
          const auto old = F::mul(F::load(to), F::set1(rescale[i]));
          F::store(to, F::fma(Words::to_float(sum), F::set1(step[i]), old));
        }
      }
  }

  /// Values of a unit; head g in the lanes g, g + G, …
  alignas(64) float q_step_[kWidth], p_step_[kWidth];
  alignas(64) std::int32_t q_bias_[kWidth];  ///< what is too much in every score's sum
  alignas(64) std::int16_t integer_q_[G * H];
  alignas(64) std::int32_t integer_p_[greater(kBlock / 2 * G, kWidth)];
  alignas(64) std::int32_t p_bias_[kWidth]{};  ///< kBias times each head's sum in units
};

}  // namespace
}  // namespace kernels::attention
