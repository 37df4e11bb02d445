// Idea: as avx512_vnni with queries and weights rounded to 8 bits, as the cache is: vpdpbusd
// multiplies 64 pairs. A token's score for four heads is one chain: 16 bytes of the key in every
// quarter of a vector, beside 16 of each query, so that a quarter of the sums is left to add up.
// Bound: the DRAM read roof for groups up to 4, then half the int8 roof.
// Gains over avx512_vnni: half the multiply-adds, no widening. Cold on Zen 5, groups of 8 1.25 to
// 1.35 times as fast on one core, 1.1 to 1.2 on two, groups of 4 1.0 to 1.07, for which memory is
// the limit, fewer heads 0.88 to 1.0. Whole vectors of key for every head, with four times the
// sums, take as long, as do a key's parts spread by loads in place of shuffles; values of whole
// rows, two heads at a time, are 0.95 to 1.02 times as fast, scores of the next block between the
// exponentials of this one 0.84 to 1.0.
#include "kernels/attention/attention_int8.hpp"
#include "kernels/simd/avx512_vnni.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::attention {
namespace {

constexpr float kLargestQuery = 127, kLargestWeight = 255;

struct Lanes {
  using V = __m512i;
  static constexpr int kWidth = 16;
  static V load(const void* p) { return _mm512_load_si512(p); }
  static V sub(V a, V b) { return _mm512_sub_epi32(a, b); }
  static V round(__m512 v) { return _mm512_cvtps_epi32(v); }
  static __m512 to_float(V v) { return _mm512_cvtepi32_ps(v); }
};

template <class F, class T, int G, int H, Ask kAsk>
class BytesGroup : public RoundedGroup<Lanes, F, T, G, H, kAsk> {
  using Base = RoundedGroup<Lanes, F, T, G, H, kAsk>;
  using Base::a_, Base::p_, Base::q_, Base::acc_, Base::rescale_, Base::p_step_, Base::next_rows_;
  using V = __m512i;
  static constexpr int kBlock = kBlockTokens<T, H>, kWidth = 16;
  static constexpr int kHeads = lesser(G, 4);  ///< heads of a register tile
  static constexpr int kPart = 64 / kHeads;    ///< bytes of a key that a vector holds
  static constexpr int kTokens = 4;            ///< of a score tile
  static constexpr int kFours = 4;             ///< tokens that a lane holds of values and weights
  static_assert(kBlock % kTokens == 0);

 public:
  BytesGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int g = 0; g < G; ++g) round_query(g);
  }

  void attend(std::int64_t b, std::int64_t kv_head, std::int64_t begin, std::int64_t end) {
    this->attend_with(*this, b, kv_head, begin, end);
    put_in_order();
  }

  void scores(const std::int64_t* rows, int count) {
    const int tiled = (count + kTokens - 1) / kTokens * kTokens;
    for (int t = 0; t < tiled; t += kTokens) {
      const std::int8_t* k[kTokens];
      for (int i = 0; i < kTokens; ++i) k[i] = a_.k + rows[lesser(t + i, count - 1)] * H;
      score_tile<Base::kAsks>(k, a_.k, next_rows_ + t, q_bytes_, p_ + t * G);
      for (int g = kHeads; g < G; g += kHeads)
        score_tile<false>(k, nullptr, nullptr, q_bytes_ + g * H, p_ + t * G + g);
    }
    this->scale_scores(rows, count, tiled);
  }

  /// p_bytes_[token / 4 * G + head] = four tokens' weights.
  template <class Steps>
  void weights(const std::int64_t* rows, int count, Steps&) {
    this->round_weights(rows, count, kLargestWeight, [&](int i, V a, V b) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(p_bytes_ + i / 4),
                         by_head(_mm512_cvtepi32_epi8(a), _mm512_cvtepi32_epi8(b)));
    });
  }

  void values(const std::int64_t* rows, int count) {
    const int fours = (count + kFours - 1) / kFours;
    const std::int8_t* row[kBlock];  // the last four are filled up with the last, at weight 0
    for (int t = 0; t < fours * kFours; ++t) row[t] = a_.v + rows[lesser(t, count - 1)] * H;
    for (int d = 0; d < H; d += 64)
      for (int g = 0; g < G; g += kHeads)
        value_tile(row, d, Base::kAsks && g == 0 ? a_.v : nullptr, next_rows_, fours, p_bytes_ + g,
                   rescale_ + g, p_step_ + g, acc_ + g * H + d);
    this->prefetch_scales(a_.v_scale, count);
  }

 private:
  /// A head's query beside those of its register tile, kPart bytes of each after the other.
  void round_query(int g) {
    const float* q = q_ + g * H;
    const float step = this->largest_in_query(g) / kLargestQuery;
    V sum = _mm512_setzero_si512();
    for (int d = 0; d < H; d += kWidth) {
      const V rounded = Lanes::round(F::mul(F::load(q + d), F::set1(1 / step)));
      sum = _mm512_add_epi32(sum, rounded);
      std::int8_t* to = q_bytes_ + g / kHeads * kHeads * H;
      to += d / kPart * 64 + g % kHeads * kPart + d % kPart;
      _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(rounded));
    }
    this->set_query_units(g, step, 128 * _mm512_reduce_add_epi32(sum));
  }

  /// Part n of a vector of key, beside each head's query.
  template <int n>
  static V spread(V key) {
    if constexpr (kHeads == 4) return _mm512_shuffle_i32x4(key, key, 0x55 * n);
    if constexpr (kHeads == 2) return _mm512_shuffle_i32x4(key, key, n == 0 ? 0x44 : 0xee);
    return key;
  }

  /// p[token * G + head] = the sums, as integers, with the keys' 128 times the queries' sum.
  /// If `asks`, asks for the `next` rows of the pool beside them. Row after row: eight tokens, all
  /// at the same place of their rows, are 0.91 (groups of 4) to 0.95 times as fast on Zen 5, cold,
  /// and faster in L1.
  template <bool asks>
  [[gnu::always_inline]] static void score_tile(const std::int8_t* const* k,
                                                const std::int8_t* pool, const std::int64_t* next,
                                                const std::int8_t* q, float* p) {
    V acc[kTokens];
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      acc[t] = _mm512_setzero_si512();
#pragma GCC unroll 2
      for (int d = 0; d < H; d += 64) {
        if constexpr (asks) Base::template prefetch<64>(pool + next[t] * H + d);
        const V key = _mm512_xor_si512(_mm512_loadu_si512(k[t] + d), _mm512_set1_epi8(-128));
        const auto add = [&]<int n>() {
          acc[t] = _mm512_dpbusd_epi32(acc[t], spread<n>(key),
                                       _mm512_load_si512(q + kHeads * d + 64 * n));
        };
        add.template operator()<0>();
        if constexpr (kHeads > 1) add.template operator()<1>();
        if constexpr (kHeads > 2) add.template operator()<2>(), add.template operator()<3>();
      }
    }
    store_sums(acc, p);
  }

  /// p[token * G + head] = the sums of four tokens' vectors over each head's part.
  static void store_sums(const V* v, float* p) {
    const auto pairs = [](V a, V b) {
      return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    };
    const V ab = pairs(v[0], v[1]), cd = pairs(v[2], v[3]);
    // Quarters of the vectors, each with the four tokens.
    const V sums = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    if constexpr (kHeads == 4) {
      const V by_token = _mm512_permutexvar_epi32(
          _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), sums);
      if constexpr (G == 4) {
        _mm512_store_si512(p, by_token);
      } else {
        store_quarter<0>(p, by_token), store_quarter<1>(p + G, by_token);
        store_quarter<2>(p + 2 * G, by_token), store_quarter<3>(p + 3 * G, by_token);
      }
    } else {
      const __m256i low = _mm512_castsi512_si256(sums), high = _mm512_extracti64x4_epi64(sums, 1);
      const auto halves = [](__m256i a) {
        return _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
      };
      if constexpr (kHeads == 2) {
        const __m128i a = halves(low), b = halves(high);
        _mm_store_si128(reinterpret_cast<__m128i*>(p), _mm_unpacklo_epi32(a, b));
        _mm_store_si128(reinterpret_cast<__m128i*>(p + 4), _mm_unpackhi_epi32(a, b));
      } else {
        _mm_store_si128(reinterpret_cast<__m128i*>(p), halves(_mm256_add_epi32(low, high)));
      }
    }
  }
  template <int quarter>
  static void store_quarter(float* p, V v) {
    _mm_store_si128(reinterpret_cast<__m128i*>(p), _mm512_extracti32x4_epi32(v, quarter));
  }

  /// 32 / G tokens' weights [token][head], 16 bytes each, as [four tokens][head][4].
  static __m256i by_head(__m128i a, __m128i b) {
    if constexpr (G == 1) return _mm256_set_m128i(b, a);
    if constexpr (G == 8) {
      const __m128i pairs = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
      a = _mm_shuffle_epi8(a, pairs), b = _mm_shuffle_epi8(b, pairs);
      return _mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
    }
    const __m128i order = G == 2
                              ? _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15)
                              : _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm256_set_m128i(_mm_shuffle_epi8(b, order), _mm_shuffle_epi8(a, order));
  }

  /// 64 columns from d on. Fours of tokens are woven into lanes; what then is in vector j, quarter
  /// n are the columns 16 n + 4 j and the three that follow. Sums and weights are pinned, or GCC
  /// moves every sum twice a trip: Zen 5, cold, groups of 4 1.03 to 1.05 times as fast, of 8 1.07.
  /// In the other kernels' tiles the same is 0.94 to 1.01 times as fast, in avx512_vnni's groups of
  /// 8 1.1, which stay behind this.
  [[gnu::noinline]] static void value_tile(const std::int8_t* const* rows, int d,
                                           const std::int8_t* pool, const std::int64_t* next,
                                           int fours, const std::int32_t* p, const float* rescale,
                                           const float* step, float* out) {
    V acc[kHeads][4];
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        acc[i][j] = _mm512_setzero_si512();
        opaque(acc[i][j]);
      }
#pragma GCC unroll 1
    for (int t = 0; t < fours; ++t, p += G) {
      V row[4], woven[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) row[i] = _mm512_loadu_si512(rows[kFours * t + i] + d);
      if (pool != nullptr)
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const int line = 4 * (d / 64 * fours + t) + i;
          Base::template prefetch<64>(pool + next[line / (H / 64)] * H + line % (H / 64) * 64);
        }
      const V low_a = _mm512_unpacklo_epi8(row[0], row[1]),
              low_b = _mm512_unpacklo_epi8(row[2], row[3]),
              high_a = _mm512_unpackhi_epi8(row[0], row[1]),
              high_b = _mm512_unpackhi_epi8(row[2], row[3]);
      woven[0] = _mm512_unpacklo_epi16(low_a, low_b);
      woven[1] = _mm512_unpackhi_epi16(low_a, low_b);
      woven[2] = _mm512_unpacklo_epi16(high_a, high_b);
      woven[3] = _mm512_unpackhi_epi16(high_a, high_b);
#pragma GCC unroll 4
      for (int i = 0; i < kHeads; ++i) {
        V weight = _mm512_set1_epi32(p[i]);
        opaque(weight);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          acc[i][j] = _mm512_dpbusd_epi32(acc[i][j], weight, woven[j]);
          opaque(acc[i][j]);
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        float* const to = out + i * H + 16 * j;
        const auto old = F::mul(F::load(to), F::set1(rescale[i]));
        F::store(to, F::fma(_mm512_cvtepi32_ps(acc[i][j]), F::set1(step[i]), old));
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

  alignas(64) std::int8_t q_bytes_[G * H];
  alignas(64) std::int32_t p_bytes_[greater(kBlock / kFours * G, kWidth / 2)];
};

}  // namespace

extern const Kernel avx512_vnni_bytes = {.exec_unit = Avx512Vnni::kUnit,
                                         .s8 = attend_split<Avx512::F32, std::int8_t, BytesGroup>,
                                         .max_group = 8,
                                         .s8_roof = "s8",
                                         .s8_rounding = 0.5 / kLargestQuery};

}  // namespace kernels::attention
