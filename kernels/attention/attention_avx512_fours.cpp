// Idea: four tokens by four heads at a time (attention_fours.hpp), where avx512_split keeps a key's
// sums for each head to itself.
// Bound: the DRAM read roof for groups up to 8.
// Gains over avx512_split: Zen 5, cold, 1.25 times as fast for one head, 1.37 for two, 1.04 (two
// cores) and 1.07 for four, 1.16 for eight; in L2 1.3 to 1.5. Zen 4, cold, one core 0.98, 1.10 and
// 1.26 for one head, four and eight, two 0.97, 1.11 and 1.27; in L2 0.9, 0.9 and 1.1. Emerald
// Rapids, cold, one core 1.05, 1.10 and 1.04 times as fast for one, four and eight.
#include "kernels/attention/attention_fours.hpp"
#include "kernels/attention/attention_simd.hpp"

namespace kernels::attention {
namespace {

template <class F>
struct Floats {
  using V = typename F::V;
  static constexpr int kWidth = F::kWidth;
  static V load(const float* p) { return F::load(p); }
  static V dot(V sums, V x, V y) { return F::fma(x, y, sums); }
};

template <class F, class T, int G, int H, Ask kAsk>
class FloatsGroup : public LazyGroup<Floats<F>, F, T, G, H, kAsk> {
  using Base = LazyGroup<Floats<F>, F, T, G, H, kAsk>;
  using Base::kPlain, Base::kTileLines, Base::kTileVectors, Base::kValueHeads, Base::kWidth,
      Base::query_, Base::weights_;
  using typename Base::Asks, typename Base::TileSums, typename Base::V;

 public:
  FloatsGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    std::memcpy(query_, this->q_, sizeof query_);
  }

  void end() { this->leave_sums(); }

  template <class Steps>
  void weights(const std::int64_t*, int, Steps&) {
    this->take_weights([&](int i, V weights) { F::store(weights_ + i * kWidth, weights); });
  }

  void values(const std::int64_t*, int) { this->add_values(add); }

 private:
  static constexpr auto add = [](TileSums & sum, const float* rows, const float* p,
                                 const Asks& asks) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      if constexpr (!kPlain) asks.ask(t * kTileLines / 4, (t + 1) * kTileLines / 4);
      V value[kTileVectors];
#pragma GCC unroll 8
      for (int j = 0; j < kTileVectors; ++j) value[j] = F::load(rows + t * H + j * kWidth);
#pragma GCC unroll 4
      for (int i = 0; i < kValueHeads; ++i) {
        const V weight = F::set1(p[4 * i + t]);
#pragma GCC unroll 8
        for (int j = 0; j < kTileVectors; ++j) sum[i][j] = F::fma(weight, value[j], sum[i][j]);
      }
    }
  };
};

}  // namespace

extern const Kernel avx512_fours = {.exec_unit = Avx512::kUnit,
                                    .f32 = attend_split<Avx512::F32, float, FloatsGroup>,
                                    .max_group = 8,
                                    .key_heads = 4,
                                    .value_heads = 4};

}  // namespace kernels::attention
