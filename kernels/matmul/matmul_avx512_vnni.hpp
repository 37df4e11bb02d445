// The AVX512-VNNI engine of matmul: fours of K in a 32-bit lane of a panel.
#pragma once

#include "kernels/matmul/matmul_avx512.hpp"

namespace kernels::matmul {
namespace {

/// Four rows of 64 columns become 4 x 16 columns of fours, with 128 added if they go in as
/// unsigned. Unpacking leaves those in a vector that are 16 bytes apart; so columns are spread out
/// before.
template <bool kUnsigned>
[[gnu::always_inline]] inline void weave(__m512i (&w)[4]) {
  const __m512i spread = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (__m512i& row : w) {
    if (kUnsigned) row = _mm512_xor_si512(row, _mm512_set1_epi8(-128));
    row = _mm512_permutexvar_epi32(spread, row);
  }
  const __m512i top_low = _mm512_unpacklo_epi8(w[0], w[1]);
  const __m512i top_high = _mm512_unpackhi_epi8(w[0], w[1]);
  const __m512i bottom_low = _mm512_unpacklo_epi8(w[2], w[3]);
  const __m512i bottom_high = _mm512_unpackhi_epi8(w[2], w[3]);
  w[0] = _mm512_unpacklo_epi16(top_low, bottom_low);
  w[1] = _mm512_unpackhi_epi16(top_low, bottom_low);
  w[2] = _mm512_unpacklo_epi16(top_high, bottom_high);
  w[3] = _mm512_unpackhi_epi16(top_high, bottom_high);
}

/// vpdpbusd takes unsigned times signed. Of two signed operands Y goes in as y + 128, and
/// sum x (y + 128) = sum x y + 128 sum x: a panel of X carries -128 sum x of its rows at its head,
/// from which the sums start. (The offset on the side of X costs a sum of every column of Y, which
/// is the larger one where packing counts.) Sums may wrap on the way: they are exact modulo 2^32,
/// and the result fits.
template <class XT>
struct Int8Vnni : Int32SumsAvx512 {
  using X = XT;
  using Y = std::int8_t;
  using Xp = XT;
  using Yp = std::int8_t;
  static constexpr bool kSigned = std::is_signed_v<XT>;
  static constexpr int kGroup = 4, kChunk = 64, kHeader = kSigned ? 64 : 0;

  static V first(const Xp* header, int row) {
    return kSigned ? broadcast_lane(header + row * 4) : zero();
  }
  static void load_y(const Yp* y, W (&w)[2]) {
    w[0] = _mm512_loadu_si512(y);
    w[1] = _mm512_loadu_si512(y + 64);
  }
  static V broadcast(const Xp* x) { return broadcast_lane(x); }
  static V step(V acc, W y, V x) {
    return kSigned ? _mm512_dpbusd_epi32(acc, y, x) : _mm512_dpbusd_epi32(acc, x, y);
  }
  static void pack_x(const X* x, Xp* out) { _mm512_storeu_si512(out, _mm512_loadu_si512(x)); }
  static void pack_header(Xp* header, std::int64_t row, const Xp* x, std::int64_t chunks,
                          std::int64_t apart) {
    put_header(header, row, sums_of(x, chunks, apart, zero()));
  }
  /// What pack_header() tells, of m rows of k values where they lie, one row's after the other.
  static void heads(const X* x, std::int64_t m, std::int64_t k, Xp* heads) {
    const std::int64_t chunks = k / kChunk;
    for (std::int64_t r = 0; r < m; ++r, x += k) {
      X rest[kChunk] = {};
      for (std::int64_t i = chunks * kChunk; i < k; ++i) rest[i - chunks * kChunk] = x[i];
      put_header(heads, r, sums_of(rest, 1, 0, sums_of(x, chunks, kChunk, zero())));
    }
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    __m512i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm512_castsi256_si512(half(y + i * ldy));
    weave<kSigned>(w);
    for (int v = 0; v < 2; ++v) _mm512_storeu_si512(out + v * 64, w[v]);
  }
  static void pack_two(const Y* y, std::int64_t ldy, Yp* left, Yp* right) {
    __m512i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm512_loadu_si512(y + i * ldy);
    weave<kSigned>(w);
    for (int v = 0; v < 2; ++v) {
      _mm512_storeu_si512(left + v * 64, w[v]);
      _mm512_storeu_si512(right + v * 64, w[2 + v]);
    }
  }

 private:
  /// `sum` and the values of `chunks` chunks, `apart` elements apart, fours in a lane.
  static V sums_of(const Xp* x, std::int64_t chunks, std::int64_t apart, V sum) {
    for (; chunks > 0; --chunks, x += apart)
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_loadu_si512(x));
    return sum;
  }
  static void put_header(Xp* header, std::int64_t row, V sum) {
    const std::int32_t offset = -128 * _mm512_reduce_add_epi32(sum);
    __builtin_memcpy(header + row * 4, &offset, sizeof offset);
  }
  static __m256i half(const Y* row) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
  }
};

/// The same for rows of Y where they lie, a line of each at a time. -128 sum x is added at the end.
template <class XT>
struct Int8VnniRows : Int8Vnni<XT> {
  using V = __m512i;
  using W = __m512i;
  static constexpr int kVectors = 4;
  static constexpr int kOffset = Int8Vnni<XT>::kSigned ? 128 : 0;

  static void load_rows(const std::int8_t* y, std::int64_t ldy, W (&w)[4]) {
    for (int i = 0; i < 4; ++i) w[i] = _mm512_loadu_si512(y + i * ldy);
    weave<Int8Vnni<XT>::kSigned>(w);
  }
};

}  // namespace
}  // namespace kernels::matmul
