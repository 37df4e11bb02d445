// Engines: what one instruction set does for one dtype, so that the packed and the skinny matmul
// are written once. An engine has the operand types X, Y, Z; Xp and Yp, their elements in packed
// panels; kGroup, the steps of K that one instruction adds up; V, a vector of kLanes sums; W, a
// vector of Y; kVectors vectors side by side (nr columns) and kRows rows (mr), the register tile;
// kChunk, steps of K that stay together in a panel of X; and
//   load_y(panel, w)           one group of a packed panel
//   load_rows(y, ldy, w)       the same from kGroup rows where they lie, ldy apart
//   broadcast(x), step(acc, w, x), add(v, v), load_sums(z)
//   accumulate(acc, w, x)      optional: step() into acc's own register
//   put(z, acc, add, scales, column)   to Z, times scales[column...] where given
//   pack_x(x, out)             kChunk steps of one row
//   pack_y(y, ldy, out)        one group of kGroup rows
//   pack_two(y, ldy, left, right)   optional: the same of two panels side by side
//   first(panel, r)            what the sums of row r of a panel of X start from, told by its head
//                              of kHeader elements
//   pack_header(panel, rows, x, chunks)   where kHeader > 0: what first() is to tell of each of so
//                              many rows, packed from x on in `chunks` chunks of each
//   heads(x, m, k, out)        the same of m rows of k values where they lie, 32 bits a row
// An engine may take a row of X as kParts rows in a panel, chunk by chunk one after the other, each
// with sums of its own. Then it has
//   open_row(panel, r, x, n)   what of n values of row r the head is to tell before they are packed
//   pack_x(x, out, panel, r)   kChunk steps of all parts of row r
//   join(panel, r, high, low)  what put() is given for the sums of both parts
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/matmul/matmul.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::matmul {
namespace {

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }
constexpr std::int64_t blocks_of(std::int64_t n, std::int64_t at_most) {
  return (n + at_most - 1) / at_most;
}
constexpr std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
constexpr std::int64_t greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

template <class E>
constexpr int parts_of() {
  if constexpr (requires { E::kParts; }) return E::kParts;
  return 1;
}

/// acc += w x, by instructions that keep acc in its register: left alone, GCC moves the loads of
/// unrolled steps up until it runs out of registers and spills sums.
template <class E, class B>
[[gnu::always_inline]] inline void add_product(typename E::V& acc, const typename E::W& w,
                                               const B& x) {
  if constexpr (requires { E::accumulate(acc, w, x); }) {
    E::accumulate(acc, w, x);
  } else {
    acc = E::step(acc, w, x);
    opaque(acc);
  }
}

/// Floating point. X is widened to the sums' type as it is packed. Y is as narrow as it is in
/// panels too, unless these are of another type YpT, and widened in registers: two cheap operations
/// for 16 bf16 beside 12 FMA. NOTES.md, "Tiles and widening of the engines".
template <class F, class XT, class YT, int Rows, int Vectors, class YpT = YT>
struct FloatEngine {
  using X = XT;
  using Y = YT;
  using Z = typename F::T;
  using Xp = typename F::T;
  using Yp = YpT;
  using V = typename F::V;
  using W = typename F::V;
  static constexpr int kRows = Rows, kVectors = Vectors, kLanes = F::kWidth, kGroup = 1;
  static constexpr int kChunk = F::kWidth > 8 ? F::kWidth : 8, kHeader = 0;

  static V zero() { return F::zero(); }
  static V first(const Xp*, int) { return zero(); }
  static void load_y(const Yp* y, W (&w)[Vectors]) {
    if constexpr (std::is_same_v<Yp, bf16>)
      F::load_even_odd(y, w[0], w[1]);
    else
      load_rows(y, 0, w);
  }
  static V add(V a, V b) { return F::add(a, b); }
  static V load_sums(const Z* z) { return F::load(z); }
  static V broadcast(const Xp* x) { return F::set1(*x); }
  static V step(V acc, W y, V x) { return F::fma(x, y, acc); }
  static void accumulate(V& acc, W y, V x) requires requires { F::accumulate(acc, x, y); }
  { F::accumulate(acc, x, y); }
  static void put(Z* z, V acc, bool accumulate, const float* scales, int column) {
    if constexpr (sizeof(Z) == sizeof(float))
      if (scales != nullptr) acc = F::mul(acc, F::load(scales + column));
    F::store(z, accumulate ? F::add(acc, F::load(z)) : acc);
  }
  static void pack_x(const X* x, Xp* out) {
    for (int i = 0; i < kChunk; i += kLanes) F::store(out + i, F::load(x + i));
  }
  template <class T>  // Y or Yp
  static void load_rows(const T* y, std::int64_t, W (&w)[Vectors]) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) w[v] = F::load(y + v * kLanes);
  }
  static void pack_y(const Y* y, std::int64_t, Yp* out) {
    if constexpr (!std::is_same_v<Yp, Y>) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) F::store(out + v * kLanes, F::load(y + v * kLanes));
    } else if constexpr (std::is_same_v<Y, bf16>) {
      static_assert(Vectors == 2);
      F::store_even_odd(y, out);
    } else {
      __builtin_memcpy(out, y, sizeof(Y) * Vectors * kLanes);
    }
  }
};

}  // namespace
}  // namespace kernels::matmul
