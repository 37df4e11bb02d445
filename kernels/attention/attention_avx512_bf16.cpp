// Idea: a bf16 cache is multiplied as it lies: queries and weights are rounded to bf16, and
// vdpbf16ps multiplies 32 pairs and adds them in one instruction. Tokens are taken four by four,
// and sums rescaled only where they must be (attention_fours.hpp). Bound: the DRAM read roof for
// groups up to 8. Gains over avx512_split: no widening and half the multiply-adds.
#include "kernels/attention/attention_fours.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::attention {
namespace {

using Pairs = Avx512Bf16::BF16;

template <class F, class T, int G, int H, Ask kAsk>
class PairsGroup : public LazyGroup<Pairs, F, T, G, H, kAsk> {
  using Base = LazyGroup<Pairs, F, T, G, H, kAsk>;
  using Base::acc_, Base::fours_, Base::kFourLines, Base::kHeads, Base::kVectors, Base::kWidth,
      Base::query_, Base::v_;
  using typename Base::Asks, typename Base::V;
  static constexpr int kTileVectors = lesser(H / kWidth, 16 / kHeads);
  static constexpr int kTiles = H / kWidth / kTileVectors;  ///< of values across a row
  static constexpr int kParts = kTiles * (G / kHeads);

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

  void attend(std::int64_t b, std::int64_t kv_head, std::int64_t begin, std::int64_t end) {
    this->attend_with(*this, b, kv_head, begin, end);
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

  void values(const std::int64_t*, int) {
    int part = 0;
    for (int tile = 0; tile < kTiles; ++tile)
      for (int g = 0; g < G; g += kHeads) value_tile(g, tile, part++);
  }

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

  /// kHeads heads from g on. Of every eight columns the unpacked first four go to one sum, the
  /// others to the next.
  [[gnu::noinline]] void value_tile(int g, int tile, int part) {
    float* const out = acc_ + g * H + tile * kTileVectors * kWidth;
    V sum[kHeads][kTileVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) sum[i][j] = F::load(out + i * H + j * kWidth);
    const bf16* p = weights_ + 4 * g;
#pragma GCC unroll 1
    for (int f = 0; f < fours_; ++f, p += 4 * G) {
      const bf16* const rows = v_[f] + tile * kTileVectors * kWidth;
      const Asks asks = this->template asks_of_values<kParts>(part, f);
#pragma GCC unroll 2
      for (int t = 0; t < 4; t += 2)
#pragma GCC unroll 4
        for (int j = 0; j < kTileVectors; j += 2) {
          constexpr int kLines = kFourLines / kParts;
          const int at = (t * kTileVectors + 2 * j) / 4;
          if constexpr (kAsk != Ask::nothing)
            asks.ask(at * kLines / kTileVectors, (at + 1) * kLines / kTileVectors);
          __m512i even = _mm512_loadu_si512(rows + t * H + j * kWidth),
                  odd = _mm512_loadu_si512(rows + (t + 1) * H + j * kWidth);
          const V first = _mm512_castsi512_ps(_mm512_unpacklo_epi16(even, odd)),
                  second = _mm512_castsi512_ps(_mm512_unpackhi_epi16(even, odd));
#pragma GCC unroll 4
          for (int i = 0; i < kHeads; ++i) {
            const V weights = pair_of_weights(p + 4 * i + t);
            sum[i][j] = Pairs::dot(sum[i][j], weights, first);
            sum[i][j + 1] = Pairs::dot(sum[i][j + 1], weights, second);
          }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kHeads; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) F::store(out + i * H + j * kWidth, sum[i][j]);
  }

  /// Sums from value_tile()'s order to that of finish().
  void put_in_order() {
    for (int g = 0; g < G; ++g) {
      float row[H];
      for (int d = 0; d < H; ++d)
        row[d] = acc_[g * H + d / 32 * 32 + d % 8 / 4 * 16 + d % 32 / 8 * 4 + d % 4];
      to_positions<F, T, H>(row, 1, acc_ + g * H);
    }
  }

  static_assert(kVectors == 1 || kVectors % 2 == 0);
  alignas(64) bf16 weights_[greater(kVectors, 2) * kWidth];  ///< [four][head][4 tokens]
};

}  // namespace

extern const Kernel avx512_bf16 = {.exec_unit = Avx512Bf16::kUnit,
                                   .bf16 = attend_split<Avx512::F32, bf16, PairsGroup>,
                                   .max_group = 8,
                                   .roof = "bf16",
                                   .bf16_rounding = 0x1p-9};

}  // namespace kernels::attention
