// Idea: as avx512_vnni with queries and weights rounded to 8 bits, as the cache is: vpdpbusd
// multiplies 64 pairs. A token's score for four heads is one chain: 16 bytes of the key in every
// quarter of a vector, beside 16 of each query, so that a quarter of the sums is left to add up.
// Bound: the DRAM read roof.
// Gains over avx512_vnni: half the multiply-adds, no widening. Zen 5, cold, one core 1.05 times as
// fast for one head, 1.2 for groups of 4, 1.7 for 8; two cores, which memory holds back, 1.03, 1.11
// and 1.29. Zen 4, cold, one core 1.26, 1.63 and 2.11, two 1.27, 1.14 and 2.02. Emerald Rapids,
// cold, one core 1.20, 1.19 and 1.58.
// Tried and left: NOTES.md, "Bytes by vpdpbusd".
#include "kernels/attention/attention_fours.hpp"
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512_integers.hpp"
#include "kernels/simd/avx512_vnni.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::attention {
namespace {

constexpr float kLargestQuery = 127, kLargestWeight = 255;

template <class F, class T, int G, int H, Ask kAsk>
class BytesGroup : public FoursGroup<F, T, G, H, kAsk> {
  using Base = FoursGroup<F, T, G, H, kAsk>;
  using Base::a_, Base::acc_, Base::fours_, Base::k_, Base::k_scales_, Base::kFourLines,
      Base::kFours, Base::kHeads, Base::kOwn, Base::kPlain, Base::kValueHeads, Base::kVectors,
      Base::kWidth, Base::p_, Base::q_, Base::v_, Base::v_scales_;
  using typename Base::Asks;
  using V = __m512i;
  static constexpr int kPart = 64 / kHeads;               ///< bytes of a key that a vector holds
  static constexpr int kTileLines = kPlain ? H / 64 : 1;  ///< of a row, in a tile of values
  static constexpr int kTiles = H / 64 / kTileLines;      ///< of values across a row
  static constexpr int kParts = kTiles * (G / kValueHeads);
  static constexpr int kLanes = kOwn * kWidth;

 public:
  BytesGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int g = 0; g < G; ++g) round_query(g);
    for (int i = 0; i < kLanes; ++i) highest_[i] = -INFINITY, totals_[i] = 0;
  }

  void end() {
    for (int g = 0; g < G; ++g)
      this->leave(g, highest_[Base::lane_of(g)], Base::sum_of_head(totals_, g));
    put_in_order();
  }

  void scores(const std::int64_t* rows, int count) {
    this->score_tiles(rows, count, [&](int f) { score_tile(f); });
    this->prefetch_scales(a_.k_scale, count);
  }

  /// In units such that the block's largest weight times its largest scale, of any head, is at most
  /// kLargestWeight.
  template <class Steps>
  void weights(const std::int64_t*, int, Steps&) {
    __m128 scale = _mm_set1_ps(1e-30f);  // weights below it vanish in the sum
    for (int f = 0; f < fours_; ++f) scale = _mm_max_ps(scale, _mm_loadu_ps(v_scales_[f]));
    scale = _mm_max_ps(scale, _mm_movehl_ps(scale, scale));
    scale = _mm_max_ss(scale, _mm_shuffle_ps(scale, scale, 1));
    const float unit = _mm_cvtss_f32(scale) / kLargestWeight;
    const auto inverse = F::set1(1 / unit);

    __m512 top[kOwn], sum[kOwn];
    for (int i = 0; i < kOwn; ++i) {
      top[i] = Base::highest_of_heads(this->highest_of_block(i));
      sum[i] = F::zero();
    }
    const int vectors = (fours_ * G + 3) / 4;
    for (int first = 0; first < vectors; first += kOwn)
#pragma GCC unroll 2
      for (int own = 0; own < kOwn; ++own) {
        const int i = first + own;
        const auto weights = exp2_normal<F>(F::sub(F::load(p_ + i * kWidth), top[own]));
        sum[own] = F::add(sum[own], weights);
        const auto in_units = F::mul(F::mul(weights, inverse), of_tokens(v_scales_, i));
        _mm_store_si128(reinterpret_cast<__m128i*>(weights_ + 4 * i),
                        _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(in_units)));
      }
    for (int i = 0; i < kOwn; ++i) {
      const int at = i * kWidth;
      const auto old = F::load(highest_ + at), now = F::max(old, top[i]);
      const auto rescale = exp2_normal<F>(F::sub(old, now)),
                 of_block = exp2_normal<F>(F::sub(top[i], now));
      F::store(highest_ + at, now);
      F::store(factors_ + at, rescale);
      F::store(units_ + at, F::mul(of_block, F::set1(unit)));
      F::store(totals_ + at, F::fma(F::load(totals_ + at), rescale, F::mul(sum[i], of_block)));
    }
  }

  void values(const std::int64_t*, int count) {
    this->template value_tiles<kTiles>(
        [&](int g, int tile, int part) { value_tile(g, tile, part); });
    this->prefetch_scales(a_.v_scale, count);
  }

 private:
  /// A head's query beside those of its vector, kPart bytes of each after the other.
  void round_query(int g) {
    const float* q = q_ + g * H;
    const float step = this->largest_in_query(g) / kLargestQuery;
    V sum = _mm512_setzero_si512();
    for (int d = 0; d < H; d += kWidth) {
      const V rounded = _mm512_cvtps_epi32(F::mul(F::load(q + d), F::set1(1 / step)));
      sum = _mm512_add_epi32(sum, rounded);
      std::int8_t* to = query_ + g / kHeads * kHeads * H;
      to += d / kPart * 64 + g % kHeads * kPart + d % kPart;
      _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(rounded));
    }
    const std::int32_t bias = 128 * _mm512_reduce_add_epi32(sum);
    for (int i = 0; i < kLanes; ++i)
      if (i / 4 % G == g) q_steps_[i] = step, q_biases_[i] = bias;
  }

  /// Part of a key beside each head's query, plus 128.
  static V spread(const std::int8_t* key) {
    V part;
    if constexpr (kHeads == 4)
      part = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(key)));
    else if constexpr (kHeads == 2)
      part = _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(key)));
    else
      part = _mm512_loadu_si512(key);
    return _mm512_xor_si512(part, _mm512_set1_epi8(-128));
  }

  /// Each key's part is loaded once for all heads.
  [[gnu::noinline]] void score_tile(int four) {
    constexpr int kOpen = kPlain ? 1 : 4, kSteps = H / kPart;
    V sum[kFours][kOwn][4];
#pragma GCC unroll 4
    for (int f = 0; f < kFours; ++f) {
      const std::int8_t* const keys = k_[four + f];
#pragma GCC unroll 2
      for (int i = 0; i < kOwn; ++i)
#pragma GCC unroll 4
        for (int t = 0; t < 4; ++t) sum[f][i][t] = _mm512_setzero_si512();
#pragma GCC unroll 4
      for (int row = 0; row < 4; row += kOpen)
#pragma GCC unroll 8
        for (int step = 0; step < kSteps; ++step) {
          if constexpr (!kPlain)
            this->asks_of_keys(four + f).ask(step * kFourLines / kSteps,
                                             (step + 1) * kFourLines / kSteps);
          V query[kOwn];
#pragma GCC unroll 2
          for (int i = 0; i < kOwn; ++i)
            query[i] = _mm512_load_si512(query_ + i * kHeads * H + step * 64);
#pragma GCC unroll 4
          for (int t = row; t < row + kOpen; ++t) {
            const V key = spread(keys + t * H + step * kPart);
#pragma GCC unroll 2
            for (int i = 0; i < kOwn; ++i)
              sum[f][i][t] = _mm512_dpbusd_epi32(sum[f][i][t], key, query[i]);
          }
        }
    }
#pragma GCC unroll 2
    for (int i = 0; i < kOwn; ++i) {
      V added;
      if constexpr (kFours == 1)
        added = sums_in_quarters(sum[0][i]);
      else if constexpr (kFours == 2)
        added = add_quarters(sums_in_quarters(sum[0][0]), sums_in_quarters(sum[1][0]));
      else
        added =
            add_quarters(add_quarters(sums_in_quarters(sum[0][0]), sums_in_quarters(sum[1][0])),
                         add_quarters(sums_in_quarters(sum[2][0]), sums_in_quarters(sum[3][0])));
      const int vector = four * G / 4 + i;
      const auto in_steps =
          _mm512_cvtepi32_ps(_mm512_sub_epi32(added, _mm512_load_si512(q_biases_ + i * kWidth)));
      F::store(p_ + vector * kWidth, F::mul(F::mul(in_steps, F::load(q_steps_ + i * kWidth)),
                                            of_tokens(k_scales_, vector)));
    }
  }
  /// The tokens' scales for vector i of the scores.
  static __m512 of_tokens(const float* const* fours, int i) {
    const auto four = [&](int f) { return _mm512_broadcast_f32x4(_mm_loadu_ps(fours[f])); };
    if constexpr (G >= 4) {
      return four(i / kOwn);
    } else if constexpr (G == 2) {
      return _mm512_shuffle_f32x4(four(2 * i), four(2 * i + 1), 0);
    } else {
      return _mm512_shuffle_f32x4(_mm512_shuffle_f32x4(four(4 * i), four(4 * i + 1), 0),
                                  _mm512_shuffle_f32x4(four(4 * i + 2), four(4 * i + 3), 0), 0x88);
    }
  }

  /// kValueHeads heads from g on, kTileLines times 64 columns. Fours of tokens are woven into
  /// lanes; what then is in vector j of a line, quarter n are the columns 16 n + 4 j and the three
  /// that follow. Sums and weights are pinned, or GCC moves every sum twice a trip: NOTES.md,
  /// "Bytes by vpdpbusd".
  [[gnu::noinline]] void value_tile(int g, int tile, int part) {
    constexpr int kTileVectors = 4 * kTileLines;
    V sum[kValueHeads][kTileVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kValueHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) {
        sum[i][j] = _mm512_setzero_si512();
        opaque(sum[i][j]);
      }
    const std::int32_t* p = weights_ + g;
#pragma GCC unroll 1
    for (int f = 0; f < fours_; ++f, p += G) {
      const std::int8_t* const rows = v_[f] + tile * 64;
      const Asks asks = this->template asks_of_values<kParts>(part, f);
      V row[kTileLines][4];
#pragma GCC unroll 4
      for (int t = 0; t < 4; ++t) {
        constexpr int kLines = kFourLines / kParts;
        if constexpr (!kPlain) asks.ask(t * kLines / 4, (t + 1) * kLines / 4);
#pragma GCC unroll 2
        for (int line = 0; line < kTileLines; ++line) {
          row[line][t] = _mm512_loadu_si512(rows + t * H + line * 64);
          if constexpr (kPlain) opaque(row[line][t]);
        }
      }
#pragma GCC unroll 2
      for (int line = 0; line < kTileLines; ++line) {
        V woven[4];
        interleave_bytes(row[line], woven);
#pragma GCC unroll 4
        for (int i = 0; i < kValueHeads; ++i) {
          V weight = _mm512_set1_epi32(p[i]);
          opaque(weight);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) {
            V& s = sum[i][4 * line + j];
            s = _mm512_dpbusd_epi32(s, weight, woven[j]);
            opaque(s);
          }
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kValueHeads; ++i) {
      const auto factor = F::set1(factors_[Base::lane_of(g + i)]),
                 unit = F::set1(units_[Base::lane_of(g + i)]);
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) {
        float* const to = acc_ + (g + i) * H + tile * 64 + j * kWidth;
        F::store(to, F::fma(_mm512_cvtepi32_ps(sum[i][j]), unit, F::mul(F::load(to), factor)));
      }
    }
  }

  /// The columns as value_tile() left them to those of a row.
  void put_in_order() {
    for (float* at = acc_; at < acc_ + G * H; at += 64) {
      alignas(64) float woven[64];
      std::memcpy(woven, at, sizeof woven);
      for (int j = 0; j < 4; ++j)
        for (int n = 0; n < 4; ++n)
          std::memcpy(at + 16 * n + 4 * j, woven + 16 * j + 4 * n, 4 * sizeof(float));
    }
  }

  alignas(64) std::int8_t query_[G * H];
  alignas(64) std::int32_t weights_[kVectors * 4];  ///< [four][head], of four tokens
  /// Of one value a head, as scores lie: of queries, a unit and what is too much in every sum; the
  /// maximum, the weights' sums; of a block, what sums before are to be multiplied with, and a
  /// unit.
  alignas(64) float q_steps_[kLanes];
  alignas(64) std::int32_t q_biases_[kLanes];
  alignas(64) float highest_[kLanes], totals_[kLanes], factors_[kLanes], units_[kLanes];
};

}  // namespace

extern const Kernel avx512_vnni_bytes = {.exec_unit = Avx512Vnni::kUnit,
                                         .s8 = attend_split<Avx512::F32, std::int8_t, BytesGroup>,
                                         .max_group = 8,
                                         .value_heads = 4,
                                         .s8_roof = "s8",
                                         .s8_rounding = 0.5 / kLargestQuery,
                                         .s8_weight_rounding = 0.5 / kLargestWeight};

}  // namespace kernels::attention
