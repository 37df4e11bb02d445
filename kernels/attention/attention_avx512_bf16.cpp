// Idea: a bf16 cache is multiplied as it lies: queries and weights are rounded to bf16, and
// vdpbf16ps multiplies 32 pairs and adds them in one instruction. Tokens are taken four by four,
// and sums rescaled only where they must be (attention_fours.hpp).
// Bound: the DRAM read roof for groups up to 8.
// Gains over avx512_split: no widening and half the multiply-adds. Zen 5, cold, one core 1.16 times
// as fast for one head, 1.07 for groups of 4, 1.67 for 8; two cores, which memory holds back, 1.12,
// 1.07 and 1.21. Zen 4, cold, one core 0.77, 1.36 and 1.96, two 0.96, 1.07 and 1.44 to 1.95; in L2
// 1.3, 1.7 and 1.8. Emerald Rapids, where vdpbf16ps takes two cycles, cold, one core 1.10, 1.08,
// 0.68.
// Tried and left: NOTES.md, "Pairs by vdpbf16ps".
#include "kernels/attention/attention_fours.hpp"
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::attention {
namespace {

using Pairs = Avx512Bf16::BF16;

template <class F, class T, int G, int H, Ask kAsk>
class PairsGroup : public LazyGroup<Pairs, F, T, G, H, kAsk> {
  using Base = LazyGroup<Pairs, F, T, G, H, kAsk>;
  using Base::acc_, Base::kPlain, Base::kTileLines, Base::kTileVectors, Base::kValueHeads,
      Base::kVectors, Base::kWidth, Base::query_, Base::weights_;
  using typename Base::Asks, typename Base::TileSums, typename Base::V;
  static_assert(kVectors == 1 || kVectors % 2 == 0);

 public:
  PairsGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    const V scale = F::set1(1.44269504f / sqrtf(static_cast<float>(H)));
    for (int g = 0; g < G; ++g)
      for (int d = 0; d < H; d += 2 * kWidth) {
        const auto scaled = [&](int at) {
          return g < heads ? F::mul(F::load(q + g * H + at), scale) : F::zero();
        };
        store_rounded(query_ + g * H + d, scaled(d), scaled(d + kWidth));
      }
  }

  void end() {
    this->leave_sums();
    put_in_order();
  }

  template <class Steps>
  void weights(const std::int64_t*, int, Steps&) {
    V even = F::zero();
    this->take_weights([&](int i, V weights) {
      if constexpr (kVectors == 1)
        store_rounded(weights_, weights, weights);
      else if (i % 2 != 0)
        store_rounded(weights_ + (i - 1) * kWidth, even, weights);
      even = weights;
    });
  }

  void values(const std::int64_t*, int) { this->add_values(add); }

 private:
  static void store_rounded(bf16* to, V a, V b) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(b, a);
    std::memcpy(to, &rounded, sizeof rounded);
  }
  /// Of one head two neighbouring tokens' weights, in every lane.
  static V pair_of_weights(const bf16* p) {
    std::int32_t pair;
    std::memcpy(&pair, p, sizeof pair);
    return _mm512_castsi512_ps(_mm512_set1_epi32(pair));
  }

  /// Of every eight columns the unpacked first four go to one sum, the others to the next.
  static constexpr auto add = [](TileSums & sum, const bf16* rows, const bf16* p, const Asks& asks)
      __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (int t = 0; t < 4; t += 2) {
      V pair[2][kTileVectors / 2];
      if constexpr (kPlain) Base::load_in_order(rows + t * H, pair);
#pragma GCC unroll 4
      for (int j = 0; j < kTileVectors; j += 2) {
        if constexpr (!kPlain) {
          const int at = (t * kTileVectors + 2 * j) / 4;
          asks.ask(at * kTileLines / kTileVectors, (at + 1) * kTileLines / kTileVectors);
          pair[0][j / 2] = Pairs::load(rows + t * H + j * kWidth);
          pair[1][j / 2] = Pairs::load(rows + (t + 1) * H + j * kWidth);
        }
        const __m512i even = _mm512_castps_si512(pair[0][j / 2]),
                      odd = _mm512_castps_si512(pair[1][j / 2]);
        const V first = _mm512_castsi512_ps(_mm512_unpacklo_epi16(even, odd)),
                second = _mm512_castsi512_ps(_mm512_unpackhi_epi16(even, odd));
#pragma GCC unroll 4
        for (int i = 0; i < kValueHeads; ++i) {
          const V weights = pair_of_weights(p + 4 * i + t);
          sum[i][j] = Pairs::dot(sum[i][j], weights, first);
          sum[i][j + 1] = Pairs::dot(sum[i][j + 1], weights, second);
        }
      }
    }
  };

  /// Sums from add()'s order to that of finish().
  void put_in_order() {
    for (int g = 0; g < G; ++g) {
      float row[H];
      for (int d = 0; d < H; ++d)
        row[d] = acc_[g * H + d / 32 * 32 + d % 8 / 4 * 16 + d % 32 / 8 * 4 + d % 4];
      to_positions<F, T, H>(row, 1, acc_ + g * H);
    }
  }
};

}  // namespace

extern const Kernel avx512_bf16 = {.exec_unit = Avx512Bf16::kUnit,
                                   .bf16 = attend_split<Avx512::F32, bf16, PairsGroup>,
                                   .max_group = 8,
                                   .key_heads = 4,
                                   .value_heads = 4,
                                   .roof = "bf16",
                                   .bf16_rounding = 0x1p-9};

}  // namespace kernels::attention
