// Idea: int8 keys and values stay integers: queries and weights are rounded to 16 bits, and
// vpmaddwd multiplies and adds 16 pairs where an FMA does 8, with no conversion to fp32.
// Bound: the DRAM read roof up to groups of 4, then the int8 roof.
// Gains over avx2_split: for groups, where that one is bound by the FMAs; nothing for G = 1.
#include "kernels/attention/attention_int8.hpp"
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::attention {
namespace {

/// Bytes come plus 128, for unpacking with zero to widen them: half the shuffles of vpmovsxbw.
struct Words {
  using V = __m256i;
  static constexpr int kWidth = 8, kHeads = 4, kBias = 128;
  static V zero() { return _mm256_setzero_si256(); }
  static V set1(std::int32_t x) { return _mm256_set1_epi32(x); }
  static V load(const void* p) { return _mm256_load_si256(static_cast<const V*>(p)); }
  static void store(void* p, V v) { _mm256_store_si256(static_cast<V*>(p), v); }
  static V add(V a, V b) { return _mm256_add_epi32(a, b); }
  static V sub(V a, V b) { return _mm256_sub_epi32(a, b); }
  static V round(__m256 v) { return _mm256_cvtps_epi32(v); }
  static __m256 to_float(V v) { return _mm256_cvtepi32_ps(v); }

  /// In assembly, because GCC otherwise makes all products of a tile first and spills them.
  static void add_products(V& acc, V a, V b) {
    V products;
    asm("vpmaddwd %[b], %[a], %[products]\n\tvpaddd %[products], %[acc], %[acc]"
        : [acc] "+x"(acc), [products] "=&x"(products)
        : [a] "x"(a), [b] "x"(b));
  }

  /// Unpacking costs a quarter of vphaddd.
  static V sums(const V (&v)[8]) {
    const auto pairs = [](V a, V b) {
      return add(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    };
    const auto fours = [&](const V* four) {
      const V ab = pairs(four[0], four[1]), cd = pairs(four[2], four[3]);
      return add(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
    };
    const V low = fours(v), high = fours(v + 4);
    return add(_mm256_permute2x128_si256(low, high, 0x20),
               _mm256_permute2x128_si256(low, high, 0x31));
  }

  /// Bytes 0-7 and 16-23, then 8-15 and 24-31.
  static void widen(const std::int8_t* p, V (&words)[2]) {
    const V bytes = biased(_mm256_loadu_si256(reinterpret_cast<const V*>(p)));
    words[0] = _mm256_unpacklo_epi8(bytes, zero());
    words[1] = _mm256_unpackhi_epi8(bytes, zero());
  }
  static void store_query(const V (&v)[4], std::int16_t* q) {
    store(q, _mm256_permute4x64_epi64(_mm256_packs_epi32(v[0], v[2]), 0xd8));
    store(q + 16, _mm256_permute4x64_epi64(_mm256_packs_epi32(v[1], v[3]), 0xd8));
  }

  static void widen_pairs(const std::int8_t* even, const std::int8_t* odd, V (&words)[2]) {
    // Bytes 0-7 to the words of the lower half, 8-15 to those of the upper; 0x80 makes a zero.
    const V spread =
        _mm256_add_epi8(_mm256_set1_epi16(static_cast<short>(0x8000)),
                        _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const V a = load_twice(even), b = load_twice(odd);
    words[0] = _mm256_shuffle_epi8(biased(_mm256_unpacklo_epi8(a, b)), spread);
    words[1] = _mm256_shuffle_epi8(biased(_mm256_unpackhi_epi8(a, b)), spread);
  }
  static void in_order(V*) {}

  /// The even tokens' lanes below the odd ones'; both are below 2^15 and not negative.
  template <int G>
  static V join(V a, V b) {
    V even = a, odd = b;
    if constexpr (G == 4) {
      even = _mm256_permute2x128_si256(a, b, 0x20);
      odd = _mm256_permute2x128_si256(a, b, 0x31);
    } else if constexpr (G == 2) {
      even = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xd8);
      odd = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xd8);
    } else if constexpr (G == 1) {
      const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
      even = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88)), 0xd8);
      odd = _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd)), 0xd8);
    }
    return _mm256_or_si256(even, _mm256_slli_epi32(odd, 16));
  }

 private:
  static V biased(V bytes) { return _mm256_xor_si256(bytes, _mm256_set1_epi8(-kBias)); }
  /// 16 bytes in both halves.
  static V load_twice(const std::int8_t* p) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
};

template <class F, class T, int G, int H, Ask kAsk>
using Avx2Group = IntegerGroup<Words, F, T, G, H, kAsk>;

}  // namespace

extern const Kernel avx2_int8 = {.exec_unit = Avx2::kUnit,
                                 .s8 = attend_split<Avx2::F32, std::int8_t, Avx2Group>,
                                 .max_group = 8,
                                 .key_heads = 4,
                                 .value_heads = 4,
                                 .s8_roof = "s8",
                                 .s8_rounding = 0.5 / kLargest,
                                 .s8_weight_rounding = 0.5 / kLargest};

}  // namespace kernels::attention
