// The AVX512-VNNI engine of matmul: fours of K in a 32-bit lane of a panel.
#pragma once

#include <numeric>

#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/simd/avx512_integers.hpp"

namespace kernels::matmul {
namespace {

/// Four rows of 64 columns become 4 x 16 columns of fours, with 128 added if they go in as
/// unsigned. Unpacking leaves those in a vector that are 16 bytes apart; so columns are spread out
/// before.
template <bool kUnsigned>
[[gnu::always_inline]] inline void weave(__m512i (&w)[4]) {
  const __m512i spread = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i rows[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    if (kUnsigned) w[i] = _mm512_xor_si512(w[i], _mm512_set1_epi8(-128));
    rows[i] = _mm512_permutexvar_epi32(spread, w[i]);
  }
  interleave_bytes(rows, w);
}

/// vpdpbusd takes unsigned times signed. Of two signed operands Y goes in as y + 128, and
/// sum x (y + 128) = sum x y + 128 sum x: a panel of X carries -128 sum x of its rows at its head,
/// from which the sums start. (The offset on the side of X costs a sum of every column of Y, which
/// is the larger one where packing counts.) Sums may wrap on the way: they are exact modulo 2^32,
/// and the result fits.
template <class XT, int Rows = 14, int Vectors = 2>
struct Int8Vnni : Int32SumsAvx512 {
  static_assert(Vectors == 2 || Vectors == 4, "half of a line of a row, or all");
  using X = XT;
  using Y = std::int8_t;
  using Xp = XT;
  using Yp = std::int8_t;
  static constexpr bool kSigned = std::is_signed_v<XT>;
  static constexpr int kRows = Rows, kVectors = Vectors;
  static constexpr int kGroup = 4, kChunk = 64, kHeader = kSigned ? 64 : 0;

  static V first(const Xp* header, int row) {
    return kSigned ? broadcast_lane(header + row * 4) : zero();
  }
  static void load_y(const Yp* y, W (&w)[Vectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) w[v] = _mm512_loadu_si512(y + v * 64);
  }
  static V broadcast(const Xp* x) { return broadcast_lane(x); }
  static V step(V acc, W y, V x) {
    return kSigned ? _mm512_dpbusd_epi32(acc, y, x) : _mm512_dpbusd_epi32(acc, x, y);
  }
  static void pack_x(const X* x, Xp* out) { _mm512_storeu_si512(out, _mm512_loadu_si512(x)); }
  static void pack_header(Xp* header, std::int64_t rows, const Xp* x, std::int64_t chunks) {
    put_heads(x, rows, kChunk, chunks, rows * kChunk, header);
  }
  /// What pack_header() tells, of m rows of k values where they lie, one row's after the other.
  static void heads(const X* x, std::int64_t m, std::int64_t k, Xp* heads) {
    const std::int64_t chunks = k / kChunk, rest = chunks * kChunk;
    put_heads(x, m, k, chunks, kChunk, heads);
    if (rest == k) return;
    for (std::int64_t r = 0; r < m; ++r, x += k, heads += 4) {
      std::int32_t head;
      __builtin_memcpy(&head, heads, sizeof head);
      head = std::accumulate(x + rest, x + k, head, [](auto to, X v) { return to - 128 * v; });
      __builtin_memcpy(heads, &head, sizeof head);
    }
  }
  static void pack_y(const Y* y, std::int64_t ldy, Yp* out) {
    __m512i w[4];
    for (int i = 0; i < 4; ++i) {
      const Y* const row = y + i * ldy;
      w[i] = Vectors == 4 ? _mm512_loadu_si512(row) : _mm512_castsi256_si512(half(row));
    }
    weave<kSigned>(w);
    for (int v = 0; v < Vectors; ++v) _mm512_storeu_si512(out + v * 64, w[v]);
  }
  static void pack_two(const Y* y, std::int64_t ldy, Yp* left, Yp* right) requires(Vectors == 2) {
    __m512i w[4];
    for (int i = 0; i < 4; ++i) w[i] = _mm512_loadu_si512(y + i * ldy);
    weave<kSigned>(w);
    for (int v = 0; v < 2; ++v) {
      _mm512_storeu_si512(left + v * 64, w[v]);
      _mm512_storeu_si512(right + v * 64, w[2 + v]);
    }
  }

 private:
  /// -128 times the sum of each of `rows` rows, `next` values from one to the next, of `chunks`
  /// chunks, `apart` values from one to the next.
  static void put_heads(const X* x, std::int64_t rows, std::int64_t next, std::int64_t chunks,
                        std::int64_t apart, Xp* heads) {
    for (; rows >= 4; rows -= 4, x += 4 * next, heads += 16)
      put_some<4>(x, next, chunks, apart, heads);
    for (; rows > 0; --rows, x += next, heads += 4) put_some<1>(x, next, chunks, apart, heads);
  }
  template <int R>
  static void put_some(const X* x, std::int64_t next, std::int64_t chunks, std::int64_t apart,
                       Xp* heads) {
    __m512i sums[4] = {zero(), zero(), zero(), zero()};
    for (; chunks > 0; --chunks, x += apart)
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
        sums[r] =
            _mm512_dpbusd_epi32(sums[r], _mm512_set1_epi8(1), _mm512_loadu_si512(x + r * next));
    const __m512i all = sums_in_quarters(sums);
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    const __m128i sum =
        _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const __m128i head = _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(sum, 7));
    __builtin_memcpy(heads, &head, R * sizeof(std::int32_t));
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
