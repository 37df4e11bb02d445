// Idea: int8 keys and values stay integers: queries and weights are rounded to 16 bits, and
// vpmaddwd multiplies and adds 16 pairs where an FMA does 8, with no conversion to fp32.
// Bound: the DRAM read roof up to groups of 4, then the int8 roof.
// Gains over avx2_split: for groups, where that one is bound by the FMAs; nothing for G = 1.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::attention {
namespace {

constexpr float kLargest = 32767;

/// Four sums of 32-bit lanes. Unpacking costs a quarter of vphaddd.
__m128i sums(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
  const __m256i cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
  const __m256i s = _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
  return _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
}

/// Adds the products of 16-bit pairs to `acc`. In assembly, because GCC otherwise makes all
/// products of a tile first and spills them.
void add_products(__m256i& acc, __m256i a, __m256i b) {
  __m256i products;
  asm("vpmaddwd %[b], %[a], %[products]\n\tvpaddd %[products], %[acc], %[acc]"
      : [acc] "+x"(acc), [products] "=&x"(products)
      : [a] "x"(a), [b] "x"(b));
}

/// Signed bytes plus 128, which unpacking with zero then widens: half the shuffles of vpmovsxbw.
/// What it adds to a sum of products, 128 times the sum of the other factor, is taken off at the
/// end.
__m256i biased(__m256i bytes) { return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)); }

/// 16 bytes in both halves.
__m256i load_twice(const std::int8_t* p) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

/// The steps of Group on integers. Lanes hold at most head_dim / 16 (scores) and kBlock / 2
/// (values) sums of two products of 2^15 x 2^7, below 2^31.
template <class F, class T, int G, int H, bool kPrefetch>
class IntegerGroup : public Group<F, T, G, H, kPrefetch> {
  using Base = Group<F, T, G, H, kPrefetch>;
  using Base::a_, Base::p_, Base::q_, Base::acc_, Base::rescale_, Base::kHeads, Base::kBlock;
  static constexpr int kTokens = 8 / kHeads;   ///< tokens of a score tile
  static constexpr int kVectors = 8 / kHeads;  ///< vectors of 8 dimensions of a value tile
  static_assert(kBlock % kTokens == 0 && kBlock % 2 == 0 && kBlock <= 128 && H % 32 == 0);

 public:
  IntegerGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int g = 0; g < G; ++g) round_query(g);
  }

  void attend(std::int64_t b, std::int64_t kv_head, std::int64_t begin, std::int64_t end) {
    this->attend_with(*this, b, kv_head, begin, end);
  }

  void scores(const std::int64_t* rows, int count) {
    int tiled = 0;
    for (; tiled < count; tiled += kTokens) {
      const std::int8_t* k[kTokens];
      for (int i = 0; i < kTokens; ++i)
        k[i] = a_.k + rows[tiled + i < count ? tiled + i : count - 1] * H;
      this->prefetch(a_.k, a_.k_scale, tiled, tiled + kTokens);
      for (int g = 0; g < G; g += kHeads) score_tile(k, integer_q_ + g * H, p_ + tiled * G + g);
    }
    this->prefetch(a_.k, a_.k_scale, tiled, kBlock);
    const __m256 step = _mm256_load_ps(q_step_);
    const __m256i bias = _mm256_load_si256(reinterpret_cast<const __m256i*>(q_bias_));
    for (int i = 0; i < count * G; i += 8) {
      const __m256i sum = _mm256_sub_epi32(_mm256_castps_si256(_mm256_load_ps(p_ + i)), bias);
      _mm256_store_ps(p_ + i, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), step));
    }
    this->scale_tokens(a_.k_scale, rows, count);
    this->end_block(count, tiled);
  }

  void values(const std::int64_t* rows, int count) {
    round_weights(count);
    std::int64_t at[kBlock];  // bytes; an odd last token comes with itself, at weight 0
    for (int t = 0; t < count; ++t) at[t] = rows[t] * H;
    if (count % 2 != 0) at[count] = at[count - 1];
    constexpr int kTiles = H / (8 * kVectors) > 0 ? H / (8 * kVectors) : 1;
    for (int tile = 0; tile < kTiles; ++tile) {
      const int d = tile * 8 * kVectors;
      for (int g = 0; g < G; g += kHeads)
        value_tile(a_.v + d, at, (count + 1) / 2, integer_p_ + g, rescale_ + g, p_step_ + g,
                   p_bias_ + g, acc_ + g * H + d);
      this->prefetch(a_.v, a_.v_scale, kBlock * tile / kTiles, kBlock * (tile + 1) / kTiles);
    }
  }

 private:
  /// integer_q_ in the order of unpacking 32 bytes: 0-7 and 16-23, then 8-15 and 24-31.
  void round_query(int g) {
    const float* q = q_ + g * H;
    __m256 top = _mm256_set1_ps(1e-30f);
    for (int d = 0; d < H; d += 8)
      top = _mm256_max_ps(top, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_load_ps(q + d)));
    const float largest = _mm256_cvtss_f32(Base::template fold_max<1>(top));
    const __m256 scale = _mm256_set1_ps(kLargest / largest);
    const auto rounded = [&](int d) {
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(q + d), scale));
    };
    __m256i sum = _mm256_setzero_si256();
    for (int d = 0; d < H; d += 16) {
      const int first = d / 32 * 32 + d / 16 % 2 * 8;
      const __m256i a = rounded(first), b = rounded(first + 16);
      const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
      _mm256_store_si256(reinterpret_cast<__m256i*>(integer_q_ + g * H + d), words);
      sum = _mm256_add_epi32(sum, _mm256_add_epi32(a, b));
    }
    const __m256i zero = _mm256_setzero_si256();
    const int total = _mm_cvtsi128_si32(sums(sum, zero, zero, zero));
    for (int i = g; i < 8; i += G) {
      q_step_[i] = largest / kLargest;
      q_bias_[i] = 128 * total;
    }
  }

  /// p[token * G + head] = the sums, as integers.
  [[gnu::noinline]] static void score_tile(const std::int8_t* const* k, const std::int16_t* q,
                                           float* p) {
    __m256i acc[kTokens][kHeads];
    const std::int8_t* row[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      row[t] = k[t];
#pragma GCC unroll 8
      for (int g = 0; g < kHeads; ++g) acc[t][g] = _mm256_setzero_si256();
    }
#pragma GCC unroll 1
    for (int d = 0; d < H; d += 32) {
      __m256i key[kTokens];
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t)
        key[t] = biased(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row[t] + d)));
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        __m256i wide[kTokens];
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t)
          wide[t] = half == 0 ? _mm256_unpacklo_epi8(key[t], _mm256_setzero_si256())
                              : _mm256_unpackhi_epi8(key[t], _mm256_setzero_si256());
#pragma GCC unroll 8
        for (int g = 0; g < kHeads; ++g) {
          const __m256i query =
              _mm256_load_si256(reinterpret_cast<const __m256i*>(q + g * H + d + 16 * half));
#pragma GCC unroll 8
          for (int t = 0; t < kTokens; ++t) add_products(acc[t][g], wide[t], query);
        }
      }
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      const __m128i four =
          sums(acc[i / kHeads][i % kHeads], acc[(i + 1) / kHeads][(i + 1) % kHeads],
               acc[(i + 2) / kHeads][(i + 2) % kHeads], acc[(i + 3) / kHeads][(i + 3) % kHeads]);
      float* to = kHeads == 4 ? p + i / 4 * G : p + i;
      _mm_storeu_ps(to, _mm_castsi128_ps(four));
    }
  }

  /// integer_p_[token / 2 * G + head] = two tokens' weights in units of p_step_, which is such that
  /// the block's largest for a head becomes 2^15 - 1.
  void round_weights(int count) {
    const int end = (count + 1) / 2 * 2 * G;
    for (int i = count * G; i < end || i % 8 != 0; ++i) p_[i] = 0;
    __m256 top = _mm256_set1_ps(1e-30f);  // weights below it vanish in the sum
    for (int i = 0; i < end; i += 8) top = _mm256_max_ps(top, _mm256_load_ps(p_ + i));
    if constexpr (G < 8) top = Base::template fold_max<G>(top);
    _mm256_store_ps(p_step_, _mm256_mul_ps(top, _mm256_set1_ps(1 / kLargest)));
    const __m256 inverse = _mm256_div_ps(_mm256_set1_ps(kLargest), top);
    alignas(32) std::int32_t rounded[kBlock * G + 8];
    for (int i = 0; i < end; i += 8)
      _mm256_store_si256(reinterpret_cast<__m256i*>(rounded + i),
                         _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(p_ + i), inverse)));
    for (int g = 0; g < G; ++g) p_bias_[g] = 0;
    for (int t = 0; t < count; t += 2)
      for (int g = 0; g < G; ++g) {
        const std::int32_t first = rounded[t * G + g], second = rounded[(t + 1) * G + g];
        integer_p_[t / 2 * G + g] = first | second << 16;
        p_bias_[g] += 128 * (first + second);
      }
  }

  [[gnu::noinline]] static void value_tile(const std::int8_t* v, const std::int64_t* at, int pairs,
                                           const std::int32_t* p, const float* rescale,
                                           const float* step, const std::int32_t* bias,
                                           float* out) {
    __m256i acc[kHeads][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) acc[i][j] = _mm256_setzero_si256();
    // Bytes 0-7 to the words of the lower half, 8-15 to those of the upper; 0x80 makes a zero.
    const __m256i widen =
        _mm256_add_epi8(_mm256_set1_epi16(static_cast<short>(0x8000)),
                        _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
#pragma GCC unroll 1
    for (int t = 0; t < pairs; ++t, p += G) {
      const std::int8_t *even = v + at[2 * t], *odd = v + at[2 * t + 1];
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; j += 2) {
        const __m256i a = load_twice(even + 8 * j), b = load_twice(odd + 8 * j);
        const __m256i low = _mm256_shuffle_epi8(biased(_mm256_unpacklo_epi8(a, b)), widen);
        const __m256i high = _mm256_shuffle_epi8(biased(_mm256_unpackhi_epi8(a, b)), widen);
#pragma GCC unroll 8
        for (int i = 0; i < kHeads; ++i) {
          const __m256i weight = _mm256_set1_epi32(p[i]);
          add_products(acc[i][j], weight, low);
          add_products(acc[i][j + 1], weight, high);
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) {
        float* to = out + i * H + j * 8;
        const __m256i sum = _mm256_sub_epi32(acc[i][j], _mm256_set1_epi32(bias[i]));
        const __m256 old = _mm256_mul_ps(_mm256_load_ps(to), _mm256_set1_ps(rescale[i]));
        _mm256_store_ps(to, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), _mm256_set1_ps(step[i]), old));
      }
  }

  alignas(64) std::int16_t integer_q_[G * H];
  alignas(64) std::int32_t integer_p_[kBlock / 2 * G];
  /// Value of a unit, and 128 times the sum in units; head g in the lanes g, g + G, …
  alignas(64) float q_step_[8], p_step_[8];
  alignas(64) std::int32_t q_bias_[8], p_bias_[8];
};

}  // namespace

extern const Kernel avx2_int8 = {.exec_unit = Avx2::kUnit,
                                 .s8 = attend_split<Avx2::F32, std::int8_t, IntegerGroup>,
                                 .max_group = 8,
                                 .s8_roof = "s8",
                                 .s8_rounding = 0.5 / kLargest};

}  // namespace kernels::attention
