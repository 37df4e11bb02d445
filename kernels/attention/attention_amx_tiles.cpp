// Idea: scores and values on AMX tiles. Keys are the left-hand matrix as they lie, 16 tokens a
// tile; the group's queries are its columns, two of them a head, high and low half, so that 16 bits
// count. Values are the right-hand matrix, tokens interleaved as they are loaded; weights are the
// left one, again two rows a head.
// Bound: the DRAM read roof for every group up to 8: of a block of 16 KB the products take 256
// cycles, while it takes 3000 to come at the share of one core of four.
// Gains, cold, four cores: int8 over avx512_vnni 1.06 times for groups of 4, 1.3 for 8; bf16 over
// avx512_split 1.35 times for groups of 8, 1.04 for 4, and 0.85 for one head.
// Tried and left: NOTES.md, "AMX tiles".
#include <cstring>

#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/ahead.hpp"
#include "kernels/simd/amx.hpp"
#include "kernels/simd/avx512_integers.hpp"

namespace kernels::attention {
namespace {

using V = __m512i;

/// int8 cache: queries and weights are whole numbers of 16 bits, the former with a sign.
struct Int8 {
  using T = std::int8_t;
  static constexpr int kTogether = 4;  ///< tokens (values) or elements (keys) of one sum's step
  /// The largest query whose high byte, rounded to the nearest, is a signed one.
  static constexpr float kLargestQuery = 127 * 256 + 127, kLargestWeight = 65535;

  static void keys_2() { _tile_dpbssd(0, 1, 2); }
  static void keys_3() { _tile_dpbssd(0, 1, 3); }
  static void keys_4() { _tile_dpbssd(0, 1, 4); }
  static void keys_5() { _tile_dpbssd(0, 1, 5); }
  static void values() { _tile_dpbusd(7, 6, 1); }

  /// For a line of the next block, into L2 (one head and four, cold: into L1 2 % slower): NOTES.md,
  /// "Requests beside AMX tiles".
  static void ask(const T* line) { ask_for<0>(line); }

  /// Halves of 16 queries.
  static void split(__m512 x, T* high, T* low) { Avx512::F32::store_halves(x, high, low); }
  /// Halves of 64 weights, the quarters of the four vectors side by side.
  static void split(const __m512* x, V& high, V& low) {
    const auto pair = [&](int i) {
      return _mm512_packus_epi32(_mm512_cvtps_epi32(x[i]), _mm512_cvtps_epi32(x[i + 1]));
    };
    const V a = pair(0), b = pair(2);
    high = every_second<1>(a, b);
    low = every_second<0>(a, b);
  }
  static __m512 join(V high, V low) {
    return _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(high, 8), low));
  }
  /// In each quarter, bytes 0, 2, … of `a` and then of `b`; `first` 1: the others.
  template <int first>
  static V every_second(V a, V b) {
    const auto words = [](V v) {
      return first == 1 ? _mm512_srli_epi16(v, 8) : _mm512_and_si512(v, _mm512_set1_epi16(255));
    };
    return _mm512_packus_epi16(words(a), words(b));
  }
  /// 64 elements of four tokens as four vectors of sums' steps.
  static void interleave(const T* const* rows, int at, V (&out)[4]) {
    const auto load = [&](int i) { return _mm512_loadu_si512(rows[i] + at); };
    const V four[4] = {load(0), load(1), load(2), load(3)};
    interleave_bytes(four, out);
  }
};

/// bf16 cache: queries and weights are the sum of two bf16.
struct Bf16 {
  using T = bf16;
  static constexpr int kTogether = 2;

  static void keys_2() { _tile_dpbf16ps(0, 1, 2); }
  static void keys_3() { _tile_dpbf16ps(0, 1, 3); }
  static void keys_4() { _tile_dpbf16ps(0, 1, 4); }
  static void keys_5() { _tile_dpbf16ps(0, 1, 5); }
  static void values() { _tile_dpbf16ps(7, 6, 1); }

  /// Into L1, with a pause behind, or requests fill what L1 has for misses and loads wait for them:
  /// NOTES.md, "Requests beside AMX tiles".
  static void ask(const T* line) { ask_for<12, 3>(line); }

  /// To the nearest bf16, in the upper halves of the lanes.
  static V rounded(__m512 x) {
    return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)),
                            _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  }
  static V rest(__m512 x, V high) { return rounded(_mm512_sub_ps(x, _mm512_castsi512_ps(high))); }

  static void split(__m512 x, T* high, T* low) {
    const V upper = rounded(x);
    const auto put = [](T* to, V v) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                          _mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)));
    };
    put(high, upper);
    put(low, rest(x, upper));
  }
  static void split(const __m512* x, V& high, V& low) {
    const V a = rounded(x[0]), b = rounded(x[1]);
    high = every_second<1>(a, b);
    low = every_second<1>(rest(x[0], a), rest(x[1], b));
  }
  static __m512 join(V high, V low) {
    return _mm512_add_ps(_mm512_castsi512_ps(high), _mm512_castsi512_ps(low));
  }
  template <int first>
  static V every_second(V a, V b) {
    const auto lanes = [](V v) {
      return first == 1 ? _mm512_srli_epi32(v, 16) : _mm512_and_si512(v, _mm512_set1_epi32(0xffff));
    };
    return _mm512_packus_epi32(lanes(a), lanes(b));
  }
  static void interleave(const T* const* rows, int at, V (&out)[2]) {
    const V a = _mm512_loadu_si512(rows[0] + at), b = _mm512_loadu_si512(rows[1] + at);
    out[0] = _mm512_unpacklo_epi16(a, b);
    out[1] = _mm512_unpackhi_epi16(a, b);
  }
};

/// Tiles: 0 sums of 16 tokens' scores; 1 keys, or values; 2 to 5 queries; 6 weights; 7 sums of
/// values.
template <class E, class F, class T, int G, int H, Ask kAsk>
class TileGroup : public Group<F, T, G, H, kAsk, Amx::kRowBytes / sizeof(T), Amx::kRows> {
  static constexpr int kRowBytes = Amx::kRowBytes, kRows = Amx::kRows;
  static constexpr int kBlock = kRowBytes / sizeof(T);  ///< tokens that a row of weights holds
  using Base = Group<F, T, G, H, kAsk, kBlock, kRows>;
  using Base::a_, Base::p_, Base::q_, Base::acc_, Base::rescale_, Base::next_rows_;
  static constexpr int kParts = H / kBlock;        ///< tiles of keys across head_dim
  static constexpr int kColumns = 2 * G;           ///< of queries, and rows of weights
  static constexpr int kSumsBytes = 4 * kColumns;  ///< of one token's scores
  static constexpr int kTogether = E::kTogether;
  static constexpr int kStreams = Base::Walk::kMostStreams;
  static constexpr int kQuarter = kBlock / 4;  ///< elements of a quarter of a vector

 public:
  TileGroup(const Args<T>& a, const float* q, int heads) : Base(a, q, heads) {
    for (int g = 0; g < G; ++g) split_query(g);
    for (float& x : rescale_) x = 0;
  }

  /// Queries stay in tiles, and values are added a block late.
  static constexpr bool kInTurns = false;

  void begin() {
    Amx::configure({{kRows, kSumsBytes},
                    {kRows},
                    {kRows, kSumsBytes},
                    {kRows, kSumsBytes},
                    {kRows, kSumsBytes},
                    {kRows, kSumsBytes},
                    {kColumns},
                    {kColumns}});
    _tile_loadd(2, queries_[0], kSumsBytes);
    if constexpr (kParts > 1) _tile_loadd(3, queries_[1], kSumsBytes);
    if constexpr (kParts > 2) {
      _tile_loadd(4, queries_[2], kSumsBytes);
      _tile_loadd(5, queries_[3], kSumsBytes);
    }
  }
  void end() {
    add_values();
    Amx::leave();
    put_in_order();
  }

  /// The sums of the block before are added, and this one's values interleaved, beside the products
  /// of keys, so that neither is waited for.
  void scores(const std::int64_t* rows, int count) {
    asked_ = 0;
    const int tiled = (count + kRows - 1) / kRows * kRows;
    for (int t = 0; t < tiled; t += kRows) {
      ask<0, 12>(t + kRows, kBlock);
      score_tile(rows, t, count);
    }
    add_values();
    interleave_values(rows, count);
    Amx::memory_fence();

    const V lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const V in_token = _mm512_and_si512(lane, _mm512_set1_epi32(G - 1));
    const V high = _mm512_add_epi32(lane, _mm512_sub_epi32(lane, in_token));
    const V low = _mm512_add_epi32(high, _mm512_set1_epi32(G));
    const auto step = F::load(q_step_);
    const typename Base::Scales scales(*this, a_.k_scale, rows, count);
    for (int i = 0; i < tiled * G; i += 16) {
      ask<32, 40>(i + 16, kBlock * G);
      const V a = _mm512_load_si512(sums_ + 2 * i), b = _mm512_load_si512(sums_ + 2 * i + 16);
      const auto sum =
          E::join(_mm512_permutex2var_epi32(a, high, b), _mm512_permutex2var_epi32(a, low, b));
      F::store(p_ + i, Base::scaled(F::mul(sum, step), i, scales));
    }
    this->prefetch_scales(a_.k_scale, count);
    this->end_block(count, tiled);
  }

  void beside_weights(int i, int end) { ask<40, 48>(i, end); }

  void values(const std::int64_t*, int count) {
    split_weights(count);
    Amx::memory_fence();
    _tile_loadd(6, weights_, kRowBytes);
    for (int tile = 0; tile < H / kRows; ++tile) {
      ask<48, 64>(tile + 1, H / kRows);
      _tile_zero(7);
      _tile_loadd(1, values_[tile], kRowBytes);
      E::values();
      _tile_stored(7, value_sums_ + tile * kColumns * kRows, kRowBytes);
    }
    Amx::memory_fence();
  }

 private:
  /// Asks for tokens of the next block, up to the share `done / of` of the 64ths from `begin` to
  /// `end`: as many as there is work beside them, and of the streams in turns. Asked for by the
  /// dozen, they and all that misses L1 wait for each other (int8: 38 against 49 GB/s).
  template <int begin, int end>
  void ask(int done, int of) {
    if constexpr (Base::kAsks)
      for (const int to = kBlock * (begin * of + (end - begin) * done) / (64 * of); asked_ < to;
           ++asked_) {
        const std::int64_t row = next_rows_[asked_ % kStreams * kRows + asked_ / kStreams];
        for (const T* from : {a_.k + row * H, a_.v + row * H})
          for (int at = 0; at < H; at += kLine<T>) E::ask(from + at);
      }
  }

  /// Head g's columns of the queries' tiles: steps of kTogether elements, one a row.
  void split_query(int g) {
    alignas(64) float q[H];
    from_positions<F, T, H>(q_ + g * H, 1, q);
    float step = 1;
    if constexpr (Base::kScaled) step = this->largest_in_query(g) / E::kLargestQuery;
    for (int i = g; i < 16; i += G) q_step_[i] = step;
    alignas(64) T halves[2][H];
    const auto inverse = F::set1(1 / step);
    for (int at = 0; at < H; at += 16)
      E::split(F::mul(F::load(q + at), inverse), halves[0] + at, halves[1] + at);
    for (int d = 0; d < H; d += kTogether) {
      T* to = queries_[d / kBlock] + (d % kBlock / kTogether * kColumns + g) * kTogether;
      for (int i = 0; i < 2; ++i, to += G * kTogether)
        std::memcpy(to, halves[i] + d, kTogether * sizeof(T));
    }
  }

  /// acc_ = acc_ * rescale_ + the sums that the last values() left.
  void add_values() {
    for (int tile = 0; tile < H / kRows; ++tile) {
      ask<12, 16>(tile + 1, H / kRows);
      for (int g = 0; g < G; ++g) {
        const std::int32_t* sum = value_sums_ + (tile * kColumns + g) * kRows;
        const auto joined = E::join(_mm512_load_si512(sum), _mm512_load_si512(sum + G * kRows));
        float* to = acc_ + g * H + tile * kRows;
        const auto old = F::mul(F::load(to), F::set1(rescale_[g]));
        F::store(to, F::fma(joined, F::set1(p_step_[g]), old));
      }
    }
  }

  /// Scores of the tokens [t, t + 16): [token][high halves of G heads, low halves].
  void score_tile(const std::int64_t* rows, int t, int count) {
    constexpr std::int64_t kStride = H * sizeof(T);
    const T* keys = a_.k + rows[t] * H;
    if (!this->lies_together(rows, t, count)) {
      for (int i = 0; i < kRows; ++i)
        std::memcpy(keys_ + i * H, a_.k + rows[lesser(t + i, count - 1)] * H, kStride);
      keys = keys_;
    }
    Amx::memory_fence();
    _tile_zero(0);
    _tile_loadd(1, keys, kStride);
    E::keys_2();
    if constexpr (kParts > 1) {
      _tile_loadd(1, keys + kBlock, kStride);
      E::keys_3();
    }
    if constexpr (kParts > 2) {
      _tile_loadd(1, keys + 2 * kBlock, kStride);
      E::keys_4();
      _tile_loadd(1, keys + 3 * kBlock, kStride);
      E::keys_5();
    }
    _tile_stored(0, sums_ + t * kColumns, kSumsBytes);
    Amx::memory_fence();
  }

  /// Tokens in the order of token_at().
  void interleave_values(const std::int64_t* rows, int count) {
    const T* value[kBlock];
    for (int t = 0; t < kBlock; ++t) value[t] = a_.v + rows[lesser(t, count - 1)] * H;
    for (int step = 0; step < kRows; ++step) {
      ask<16, 32>(step + 1, kRows);
      const T* row[kTogether];
      for (int i = 0; i < kTogether; ++i) row[i] = value[token_at(step * kTogether + i)];
      for (int part = 0; part < kParts; ++part) {
        V steps[kTogether];
        E::interleave(row, part * kBlock, steps);
        for (int i = 0; i < kTogether; ++i)
          _mm512_store_si512(values_[part * kTogether + i][step], steps[i]);
      }
    }
    this->prefetch_scales(a_.v_scale, count);
  }

  /// The token of a block whose weight split_weights() puts at `at` of a row: packing keeps to the
  /// quarters of vectors.
  static constexpr int token_at(int at) {
    constexpr int kHeads = lesser(G, 4), kTokens = 4 / kHeads;
    const int quarter = at / kQuarter, in = at % kQuarter;
    return in / kTokens * 16 / kHeads + quarter * kTokens + in % kTokens;
  }

  /// Weights to rows of a tile, high halves and then low ones. int8: in units such that a head's
  /// largest of the block becomes kLargestWeight.
  void split_weights(int count) {
    for (int i = count * G; i < kBlock * G; ++i) p_[i] = 0;
    auto inverse = F::set1(1);
    if constexpr (Base::kScaled) {
      auto top = F::set1(1e-30f);  // weights below it vanish in the sum
      for (int i = 0; i < kBlock * G; i += 16) top = F::max(top, F::load(p_ + i));
      top = Base::template fold_max<G>(top);
      F::store(p_step_, F::mul(top, F::set1(1 / E::kLargestWeight)));
      inverse = F::div(F::set1(E::kLargestWeight), top);
    }
    constexpr int kHeads = lesser(G, 4), kVectors = kBlock * kHeads / 16;
    for (int g = 0; g < G; g += kHeads) {
      __m512 p[kVectors];
      for (int i = 0; i < kVectors; ++i) p[i] = F::mul(four_heads(i, g), inverse_of(inverse, g));
      V half[2][kHeads];
      for (int i = 0; i < kHeads; ++i) E::split(p + i * kTogether, half[0][i], half[1][i]);
      for (int n = 0; n < 2; ++n) store_heads<kHeads>(half[n], weights_ + (n * G + g) * kBlock, 1);
    }
  }
  /// Vector i of the weights of up to four heads from `g` on: [token][head].
  __m512 four_heads(int i, int g) const {
    if constexpr (G <= 4) return F::load(p_ + 16 * i);
    return of_heads(F::load(p_ + 32 * i), F::load(p_ + 32 * i + 16), g);
  }
  static __m512 inverse_of(__m512 inverse, int g) {
    return G <= 4 ? inverse : of_heads(inverse, inverse, g);
  }
  /// Of [token][8 heads] four heads from `g` on.
  static __m512 of_heads(__m512 a, __m512 b, int g) {
    const V x = _mm512_castps_si512(a), y = _mm512_castps_si512(b);
    return _mm512_castsi512_ps(g == 0 ? _mm512_shuffle_i32x4(x, y, 0x88)
                                      : _mm512_shuffle_i32x4(x, y, 0xdd));
  }

  /// [token][n heads] to a row of tokens a head, `apart` rows apart.
  template <int n>
  static void store_heads(const V* tokens, T* rows, int apart) {
    if constexpr (n == 1) {
      _mm512_store_si512(rows, tokens[0]);
    } else {
      V even[n / 2], odd[n / 2];
      for (int i = 0; i < n / 2; ++i) {
        even[i] = E::template every_second<0>(tokens[2 * i], tokens[2 * i + 1]);
        odd[i] = E::template every_second<1>(tokens[2 * i], tokens[2 * i + 1]);
      }
      store_heads<n / 2>(even, rows, 2 * apart);
      store_heads<n / 2>(odd, rows + apart * kBlock, 2 * apart);
    }
  }

  /// Outputs from the order that interleaving gives to that of finish(): of each quarter of a
  /// vector, four elements after the other went to one tile.
  void put_in_order() {
    for (int g = 0; g < G; ++g) {
      float row[H];
      for (int d = 0; d < H; d += 4) {
        const int in = d % kBlock, tile = d / kBlock * kTogether + in % kQuarter / 4;
        std::memcpy(row + d, acc_ + g * H + tile * kRows + in / kQuarter * 4, 4 * sizeof(float));
      }
      to_positions<F, T, H>(row, 1, acc_ + g * H);
    }
  }

  int asked_ = 0;
  alignas(64) T queries_[kParts][kRows * kColumns * kTogether];
  alignas(64) T keys_[kRows * H];  ///< of a tile whose tokens lie apart
  alignas(64) T values_[H / kRows][kRows][kBlock];
  alignas(64) T weights_[kColumns * kBlock];
  alignas(64) std::int32_t sums_[kBlock * kColumns], value_sums_[H * kColumns] = {};
  /// Value of a unit; head g in the lanes g, g + G, …
  alignas(64) float q_step_[16], p_step_[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
};

template <class F, class T, int G, int H, Ask kAsk>
using Int8Group = TileGroup<Int8, F, T, G, H, kAsk>;
template <class F, class T, int G, int H, Ask kAsk>
using Bf16Group = TileGroup<Bf16, F, T, G, H, kAsk>;

}  // namespace

extern const Kernel amx_tiles = {.exec_unit = Amx::kUnit,
                                 .bf16 = attend_split<Avx512::F32, bf16, Bf16Group>,
                                 .s8 = attend_split<Avx512::F32, std::int8_t, Int8Group>,
                                 .max_group = 8,
                                 .roof = "bf16",
                                 .s8_roof = "s8",
                                 .s8_rounding = 0.5 / Int8::kLargestQuery,
                                 .s8_weight_rounding = 0.5 / Int8::kLargestWeight};

}  // namespace kernels::attention
