// Idea: a bf16 cache is multiplied as it lies: queries and weights are rounded to bf16, and
// vdpbf16ps multiplies 32 pairs and adds them in one instruction.
// Bound: the DRAM read roof for groups up to 8.
// Gains over avx512_split: no widening and half the multiply-adds. Cold, four cores of Zen 4, 1.0
// to 1.26 times as fast for groups of 8, 1.09 for rows of 64, 0.92 to 1.0 for groups of 4 and one
// head; one core 1.10 for groups of 4: what a core may wait for at a time is the limit there. Zen
// 5: 1.1 to 1.35 for groups of 8, 0.87 to 1.03 for others. A quarter of the key beside that of each
// of four queries, which leaves a quarter of the sums to add up (avx512_vnni_bytes): in L2 0.97
// to 1.16 times as fast, cold 0.91 to 1.04.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::attention {
namespace {

template <class F, class T, int G, int H, Ask kAsk>
class PairsGroup : public Group<F, T, G, H, kAsk> {
  using Base = Group<F, T, G, H, kAsk>;
  using Base::a_, Base::p_, Base::acc_, Base::rescale_, Base::next_rows_;
  using V = __m512;
  static constexpr int kBlock = kBlockTokens<T, H>, kWidth = 16;
  static constexpr int kLine = Base::kLine, kRowLines = H / kLine;
  static constexpr int kTile = 16;  ///< sums of a register tile
  static constexpr int kHeads = lesser(G, 4), kTokens = kTile / kHeads;  ///< of a score tile
  static constexpr int kVectors =
      lesser(kTile / 2 / kHeads, H / (2 * kWidth)) * 2;  ///< of a value tile
  static_assert(kBlock % kTokens == 0 && H % (kVectors * kWidth) == 0);

 public:
  PairsGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    const V scale = F::set1(1.44269504f / sqrtf(static_cast<float>(H)));
    for (int g = 0; g < G; ++g)
      for (int d = 0; d < H; d += kWidth) {
        const V x = g < heads ? F::mul(F::load(q + g * H + d), scale) : F::zero();
        _mm256_store_si256(reinterpret_cast<__m256i*>(pairs_q_ + g * H + d),
                           _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(x), 16)));
      }
  }

  void attend(std::int64_t b, std::int64_t kv_head, std::int64_t begin, std::int64_t end) {
    this->attend_with(*this, b, kv_head, begin, end);
  }

  void scores(const std::int64_t* rows, int count) {
    for (int t = 0; t < count; t += kTokens) {
      const bf16* k[kTokens];
      for (int i = 0; i < kTokens; ++i) k[i] = a_.k + rows[lesser(t + i, count - 1)] * H;
      for (int g = 0; g < G; g += kHeads)
        score_tile(k, Base::kAsks && g == 0 ? a_.k : nullptr, next_rows_ + t, pairs_q_ + g * H,
                   p_ + t * G + g);
    }
    this->end_block(count, (count + kTokens - 1) / kTokens * kTokens);
  }

  void values(const std::int64_t* rows, int count) {
    round_weights(count);
    std::int64_t at[kBlock];  // an odd last token comes with itself, at weight 0
    for (int t = 0; t < count; ++t) at[t] = rows[t] * H;
    if (count % 2 != 0) at[count] = at[count - 1];
    constexpr int kColumns = kWidth * kVectors;
    for (int d = 0; d < H; d += kColumns)
      for (int g = 0; g < G; g += kHeads)
        value_tile(a_.v + d, d, at, Base::kAsks && g == 0 ? next_rows_ : nullptr, (count + 1) / 2,
                   pairs_p_ + g, rescale_ + g, acc_ + g * H + d);
  }

 private:
  /// To the nearest bf16, in the upper halves of the lanes; below them is what is left over.
  static __m512i rounded(V x) {
    return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
  }

  /// Lane i = the sum of v[i]'s lanes.
  static V sums(const V (&v)[16]) {
    const auto add = [](__m512i a, __m512i b) {
      return _mm512_castps_si512(F::add(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
    };
    const auto pairs = [&](V x, V y) {
      const __m512i a = _mm512_castps_si512(x), b = _mm512_castps_si512(y);
      return add(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    };
    const auto fours = [&](const V* four) {
      const __m512i ab = pairs(four[0], four[1]), cd = pairs(four[2], four[3]);
      return add(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    };
    const auto quarters = [&](__m512i a, __m512i b) {
      return add(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
    };
    return _mm512_castsi512_ps(
        quarters(quarters(fours(v), fours(v + 4)), quarters(fours(v + 8), fours(v + 12))));
  }

  /// Asks for the `next` rows of the pool, if that is not null, in the order of memory: on Zen 5
  /// 1.14 times as fast as across rows (groups of 4, one core), on two cores 1.15 to 1.24. A tile's
  /// all at once leave one core of Zen 4 4 % slower.
  [[gnu::noinline]] static void score_tile(const bf16* const* k, const bf16* pool,
                                           const std::int64_t* next, const bf16* q, float* p) {
    V acc[kTile];  // [token][head]
    const bf16* row[kTokens];
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) row[t] = k[t];
#pragma GCC unroll 16
    for (int i = 0; i < kTile; ++i) acc[i] = F::zero();
#pragma GCC unroll 1
    for (int d = 0; d < H; d += 2 * kWidth) {
      if (pool != nullptr)
#pragma GCC unroll 16
        for (int line = d / kLine * kTokens; line < (d / kLine + 1) * kTokens; ++line)
          Base::template prefetch<kLine>(pool + next[line / kRowLines] * H +
                                         line % kRowLines * kLine);
      V query[kHeads];
#pragma GCC unroll 4
      for (int g = 0; g < kHeads; ++g) query[g] = Pairs::load(q + g * H + d);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const V key = Pairs::load(row[t] + d);
#pragma GCC unroll 4
        for (int g = 0; g < kHeads; ++g)
          acc[t * kHeads + g] = Pairs::dot(acc[t * kHeads + g], key, query[g]);
      }
    }
    const V all = sums(acc);
    if constexpr (kHeads == G) {
      F::store(p, all);
    } else {
      alignas(64) float each[kWidth];
      F::store(each, all);
      for (int t = 0; t < kTokens; ++t)
        for (int g = 0; g < kHeads; ++g) p[t * G + g] = each[t * kHeads + g];
    }
  }

  /// pairs_p_[token / 2 * G + head] = two tokens' weights, the even one's below.
  void round_weights(int count) {
    constexpr int kStep = 2 * kWidth;
    const int end = (count * G + kStep - 1) / kStep * kStep;
    for (int i = count * G; i < end; ++i) p_[i] = 0;
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i in_token = _mm512_and_si512(lane, _mm512_set1_epi32(G - 1));
    const __m512i even = _mm512_sub_epi32(_mm512_add_epi32(lane, lane), in_token);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(G));
    for (int i = 0; i < end; i += kStep) {
      const V a = F::load(p_ + i), b = F::load(p_ + i + kWidth);
      const __m512i low = rounded(_mm512_permutex2var_ps(a, even, b)),
                    high = rounded(_mm512_permutex2var_ps(a, odd, b)),
                    upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
      _mm512_store_si512(pairs_p_ + i / 2, _mm512_or_si512(_mm512_srli_epi32(low, 16),
                                                           _mm512_and_si512(high, upper)));
    }
  }

  /// Columns from d on, to which `v` points.
  [[gnu::noinline]] static void value_tile(const bf16* v, int d, const std::int64_t* at,
                                           const std::int64_t* next, int pairs,
                                           const std::int32_t* p, const float* rescale,
                                           float* out) {
    V acc[kHeads][kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[i][j] = F::zero();
#pragma GCC unroll 1
    for (int t = 0; t < pairs; ++t, p += G) {
      const bf16 *even = v + at[2 * t], *odd = v + at[2 * t + 1];
      if (next != nullptr)
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          constexpr int kPiece = kWidth * kVectors, kPieces = H / kPiece;
          const int piece = 2 * (d / kPiece * pairs + t) + i;
          Base::template prefetch<kPiece>(v - d + next[piece / kPieces] * H +
                                          piece % kPieces * kPiece);
        }
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; j += 2) {
        const __m512i a = _mm512_loadu_si512(even + kWidth * j),
                      b = _mm512_loadu_si512(odd + kWidth * j);
        const V pair[2] = {_mm512_castsi512_ps(_mm512_unpacklo_epi16(a, b)),
                           _mm512_castsi512_ps(_mm512_unpackhi_epi16(a, b))};
#pragma GCC unroll 4
        for (int i = 0; i < kHeads; ++i) {
          const V weight = _mm512_castsi512_ps(_mm512_set1_epi32(p[i]));
          acc[i][j] = Pairs::dot(acc[i][j], weight, pair[0]);
          acc[i][j + 1] = Pairs::dot(acc[i][j + 1], weight, pair[1]);
        }
      }
    }
    // Unpacked, of every eight columns the first four and the others; kept as evens and odds.
    const __m512i evens =
        _mm512_setr_epi32(0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
    const __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; j += 2)
#pragma GCC unroll 2
        for (int n = 0; n < 2; ++n) {
          float* const to = out + i * H + (j + n) * kWidth;
          const V sum = _mm512_permutex2var_ps(acc[i][j], n == 0 ? evens : odds, acc[i][j + 1]);
          F::store(to, F::fma(F::load(to), F::set1(rescale[i]), sum));
        }
  }

  using Pairs = Avx512Bf16::BF16;

  alignas(64) bf16 pairs_q_[G * H];
  alignas(64) std::int32_t pairs_p_[greater(kBlock / 2 * G, kWidth)];
};

}  // namespace

extern const Kernel avx512_bf16 = {.exec_unit = Avx512Bf16::kUnit,
                                   .bf16 = attend_split<Avx512::F32, bf16, PairsGroup>,
                                   .max_group = 8,
                                   .roof = "bf16",
                                   .bf16_rounding = 0x1p-9};

}  // namespace kernels::attention
