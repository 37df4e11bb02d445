// Idea: as avx2_int8 on 512-bit vectors: vpdpwssd multiplies 32 pairs and adds them in one
// instruction.
// Bound: the DRAM read roof for groups up to 4, then half the int8 roof: words are twice as wide.
// Gains over avx512_split: an eighth of the conversions and half the multiply-adds.
#include "kernels/attention/attention_int8.hpp"
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512_integers.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::attention {
namespace {

struct Words {
  using V = __m512i;
  static constexpr int kWidth = 16, kHeads = 8, kBias = 0;
  static V zero() { return _mm512_setzero_si512(); }
  static V set1(std::int32_t x) { return _mm512_set1_epi32(x); }
  static V load(const void* p) { return _mm512_load_si512(p); }
  static void store(void* p, V v) { _mm512_store_si512(p, v); }
  static V add(V a, V b) { return _mm512_add_epi32(a, b); }
  static V sub(V a, V b) { return _mm512_sub_epi32(a, b); }
  static V round(__m512 v) { return _mm512_cvtps_epi32(v); }
  static __m512 to_float(V v) { return _mm512_cvtepi32_ps(v); }
  static void add_products(V& acc, V a, V b) { acc = _mm512_dpwssd_epi32(acc, a, b); }

  static V sums(const V (&v)[16]) {
    return add_quarters(add_quarters(sums_in_quarters(v), sums_in_quarters(v + 4)),
                        add_quarters(sums_in_quarters(v + 8), sums_in_quarters(v + 12)));
  }

  static void widen(const std::int8_t* p, V (&words)[2]) {
    words[0] = widened(p);
    words[1] = widened(p + 32);
  }
  static void store_query(const V (&v)[4], std::int16_t* q) {
    for (int i = 0; i < 4; ++i)
      _mm256_store_si256(reinterpret_cast<__m256i*>(q + 16 * i), _mm512_cvtepi32_epi16(v[i]));
  }

  /// Of every eight values the first four, then the others.
  static void widen_pairs(const std::int8_t* even, const std::int8_t* odd, V (&words)[2]) {
    const V a = widened(even), b = widened(odd);
    words[0] = _mm512_unpacklo_epi16(a, b);
    words[1] = _mm512_unpackhi_epi16(a, b);
  }
  static void in_order(V* v) {
    const V low = v[0], high = v[1];
    const V first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    v[0] = _mm512_permutex2var_epi64(low, first, high);
    v[1] = _mm512_permutex2var_epi64(low, _mm512_add_epi64(first, _mm512_set1_epi64(4)), high);
  }

  /// The even tokens' lanes below the odd ones'; both are below 2^15 and not negative.
  template <int G>
  static V join(V a, V b) {
    const V lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const V in_token = _mm512_and_si512(lane, set1(G - 1));
    const V from = add(lane, sub(lane, in_token));
    const V even = _mm512_permutex2var_epi32(a, from, b);
    const V odd = _mm512_permutex2var_epi32(a, add(from, set1(G)), b);
    return _mm512_or_si512(even, _mm512_slli_epi32(odd, 16));
  }

 private:
  static V widened(const std::int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
};

template <class F, class T, int G, int H, Ask kAsk>
using Avx512Group = IntegerGroup<Words, F, T, G, H, kAsk>;

}  // namespace

extern const Kernel avx512_vnni = {.exec_unit = Avx512Vnni::kUnit,
                                   .s8 = attend_split<Avx512::F32, std::int8_t, Avx512Group>,
                                   .max_group = 8,
                                   .key_heads = 8,
                                   .value_heads = 8,
                                   .s8_roof = "s8",
                                   .s8_rounding = 0.5 / kLargest,
                                   .s8_weight_rounding = 0.5 / kLargest};

}  // namespace kernels::attention
