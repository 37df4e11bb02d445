// The matmul that copies no X, written once over an engine (matmul_engine.hpp): its register tile
// reads X where it lies, and Y, too, where an instruction takes one step of K. Where it takes
// several, whose values must be side by side, columns of Y are packed a panel at a time, just
// before all rows of X pass over them; K is a multiple of those steps. Weights packed before
// (pack:pre) are such panels of kNr columns.
//
// Tiles are taken column panel by column panel, all rows of each, so that its kNr columns of Y stay
// near; every thread has as many tiles as the others, or one more.
#pragma once

#include <omp.h>

#include "kernels/matmul/matmul_packed_panels.hpp"

namespace kernels::matmul {
namespace {

/// Elements of Y, 800 x 800, beyond which nothing is gained by it.
constexpr std::int64_t kInPlace = 640000;

template <class E>
struct InPlace {
  using X = typename E::X;
  using Y = typename E::Y;
  using Yp = typename E::Yp;
  using Z = typename E::Z;
  using V = typename E::V;
  static constexpr bool kPacksY = E::kGroup > 1;
  static_assert(std::is_same_v<X, typename E::Xp> && std::is_same_v<Y, Yp> && parts_of<E>() == 1);
  static constexpr std::int64_t kMr = E::kRows, kNr = E::kVectors * E::kLanes;
  /// Panels that are packed at a time, so that whole lines of Y are read.
  static constexpr std::int64_t kAtOnce = PackedLayout<E>::kAtOnce;

  /// Where rows lie, and what is between them, in elements. Of packed Y, groups of rows.
  template <class P>
  struct Rows {
    P* at;
    std::int64_t apart;
  };

  /// Elements from one group of Y to the next: a constant where Y is always packed, so that those
  /// of unrolled steps need no addresses of their own.
  static constexpr std::int64_t kPackedGroup = kNr * E::kGroup;
  static std::int64_t group_of(const Rows<const Yp>& y) { return kPacksY ? kPackedGroup : y.apart; }

  /// One group of K. The address of a row is a base and at most twice what is between rows, which
  /// an instruction adds up, so that 14 rows take five registers.
  static constexpr int kShare = 3;
  template <int R>
  [[gnu::always_inline]] static void add(V (&acc)[R][E::kVectors], const X* const* base,
                                         std::int64_t apart, Rows<const Yp> y) {
    typename E::W w[E::kVectors];
    if constexpr (kPacksY)
      E::load_y(y.at, w);
    else
      E::load_rows(y.at, y.apart, w);
#pragma GCC unroll 4
    for (auto& v : w) opaque(v);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const auto b = E::broadcast(base[r / kShare] + r % kShare * apart);
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) add_product<E>(acc[r][v], w[v], b);
    }
  }

  template <int R>
  [[gnu::always_inline]] static void put(const V (&sums)[R][E::kVectors], Rows<Z> z) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        E::put(z.at + r * z.apart + v * E::kLanes, sums[r][v], false, nullptr, 0);
  }

  /// R rows by kNr columns, all `groups` of K; sums start from what `head` tells. Zen 5, one core,
  /// 256 and 512 cubed: that added at the end 0.98 to 1.00 times as fast; ends in thirds, as those
  /// of panels have (kInThirds, matmul_tile.hpp), int8 0.96 to 0.985, bf16 0.97 to 0.985 (Zen 4:
  /// 0.995 to 1.02), in halves between; lines of Z not asked for, packed Y 0.99, Y in place 1.00
  /// to 1.01; two to eight groups unrolled 0.99 to 1.005; the next rows of X asked for 0.98
  /// to 1.00; the next panel of Y packed in pieces between the tiles 0.97 to 0.99. 1024 cubed and
  /// more with as many rows of X at a time as stay in L2: 0.87 to 1.01.
  template <int R>
  [[gnu::noinline]] static void tile(std::int64_t groups, Rows<const X> x, Rows<const Yp> y,
                                     Rows<Z> z, const X* head) noexcept {
    constexpr int kBases = (R + kShare - 1) / kShare;
    V acc[R][E::kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (V& sum : acc[r]) sum = E::first(head, r);
    const X* base[kBases];
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) {
      base[i] = x.at + kShare * i * x.apart;
      opaque(base[i]);
    }
    const Z* ask = z.at;
    for (int row = kPacksY ? 0 : R; groups > 0; --groups) {
      if (row < R) {
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v) __builtin_prefetch(ask + v * E::kLanes, 1);
        ask += z.apart;
        ++row;
      }
      add<R>(acc, base, x.apart, y);
#pragma GCC unroll 8
      for (auto& b : base) b += E::kGroup;
      y.at += group_of(y);
    }
    put<R>(acc, z);
  }

  template <int R>
  static constexpr auto pick_tile(std::int64_t rows) {
    if constexpr (R == 1)
      return tile<1>;
    else
      return rows == R ? tile<R> : pick_tile<R - 1>(rows);
  }

  /// A thread's own: panels of Y (where Y lies in place, of the columns behind the last whole panel
  /// alone), a tile of sums of those columns, and what the engine wants to know of X's rows.
  struct Own {
    Yp* panels;
    Z* sums;
    X* heads;
  };
  static std::int64_t panels_bytes(const Shape& s) {
    if (!kPacksY && s.n % kNr == 0) return 0;
    return round_up(kAtOnce * s.k * kNr * std::int64_t{sizeof(Yp)}, kLine);
  }
  static std::int64_t sums_bytes(const Shape& s) {
    return s.n % kNr == 0 ? 0 : round_up(kMr * kNr * std::int64_t{sizeof(Z)}, kLine);
  }
  static std::int64_t heads_bytes(const Shape& s) {
    return E::kHeader > 0 ? round_up(s.m * std::int64_t{sizeof(std::int32_t)}, kLine) : 0;
  }
  static std::int64_t own_bytes(const Shape& s) {
    return panels_bytes(s) + sums_bytes(s) + heads_bytes(s);
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return plan.threads * own_bytes(plan.shape);
  }
  static Own own(const Plan& plan, std::int64_t thread) {
    const Shape& s = plan.shape;
    std::byte* const at = static_cast<std::byte*>(plan.workspace) + thread * own_bytes(s);
    return {reinterpret_cast<Yp*>(at), reinterpret_cast<Z*>(at + panels_bytes(s)),
            reinterpret_cast<X*>(at + panels_bytes(s) + sums_bytes(s))};
  }

  static constexpr std::int64_t width_from(const Shape& s, std::int64_t column) {
    return lesser(kNr, s.n - column);
  }

  /// `count` panels from `column` on, padded with zeros.
  static void pack_panels(const Shape& s, const Y* y, std::int64_t column, std::int64_t count,
                          Yp* to) noexcept {
    if constexpr (kPacksY) {
      PackedLayout<E> layout;
      layout.s = s;
      pack_y<E>(layout, y, s.k, column / kNr, column / kNr + count, to, s.k * kNr);
    } else {
      const std::int64_t width = width_from(s, column);
      y += column;
      for (std::int64_t k = 0; k < s.k; ++k, y += s.n, to += kNr)
        for (std::int64_t j = 0; j < kNr; ++j) to[j] = j < width ? y[j] : Y{};
    }
  }
  static Rows<const Yp> packed(const Yp* panel) { return {panel, kPackedGroup}; }

  /// All tiles, with y's panels where `panel_at(column, own panels, whether it is the first)` says.
  template <class PanelAt>
  static void multiply(const Plan& plan, const X* x, Z* z, PanelAt panel_at) {
    const Shape& s = plan.shape;
    const std::int64_t high = blocks_of(s.m, kMr), all = high * blocks_of(s.n, kNr);
    const auto row = [&](std::int64_t q) { return q * s.m / high; };
#pragma omp parallel num_threads(plan.threads)
    {
      const std::int64_t thread = omp_get_thread_num();
      const Own mine = own(plan, thread);
      const std::int64_t begin = all * thread / plan.threads,
                         end = all * (thread + 1) / plan.threads;
      Rows<const Yp> y_rows{};
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t q = i % high, m = row(q), rows = row(q + 1) - m;
        const std::int64_t n = i / high * kNr, width = width_from(s, n);
        if (q == 0 || i == begin) y_rows = panel_at(n, mine.panels, i == begin);
        const Rows<const X> x_rows = {x + m * s.k, s.k};
        X* const head = mine.heads + m * kHeadElements;
        if constexpr (E::kHeader > 0)
          if (i - begin < high) E::heads(x_rows.at, rows, s.k, head);
        const Rows<Z> z_rows = {z + m * s.n + n, s.n}, edge = {mine.sums, kNr};
        pick_tile<kMr>(rows)(s.k / E::kGroup, x_rows, y_rows, width == kNr ? z_rows : edge, head);
        for (std::int64_t r = 0; width < kNr && r < rows; ++r)
          for (std::int64_t j = 0; j < width; ++j) z_rows.at[r * s.n + j] = mine.sums[r * kNr + j];
      }
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    const Shape& s = plan.shape;
    multiply(plan, x, z, [&](std::int64_t column, Yp* panels, bool first) -> Rows<const Yp> {
      if (!kPacksY && width_from(s, column) == kNr) return {y + column, s.n};
      const std::int64_t p = column / kNr, i = p % kAtOnce;
      if (i > 0 && !first) return packed(panels + i * s.k * kNr);
      pack_panels(s, y, column, lesser(kAtOnce - i, blocks_of(s.n, kNr) - p), panels);
      return packed(panels);
    });
  }

  static std::int64_t packed_bytes(const Plan& plan) {
    return plan.shape.k * round_up(plan.shape.n, kNr) * std::int64_t{sizeof(Yp)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* to) {
    const Shape& s = plan.shape;
#pragma omp parallel for num_threads(plan.threads)
    for (std::int64_t column = 0; column < s.n; column += kNr)
      pack_panels(s, y, column, 1, static_cast<Yp*>(to) + column * s.k);
  }
  static void run_packed(const Plan& plan, const X* x, const void* panels, const float*, Z* z) {
    multiply(plan, x, z, [&](std::int64_t column, Yp*, bool) {
      return packed(static_cast<const Yp*>(panels) + column * plan.shape.k);
    });
  }

  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const Tile registers = {kMr, kNr, s.k};
    const std::int64_t both = kNr * std::int64_t{sizeof(Yp)} + kMr * std::int64_t{sizeof(X)};
    const bool stays = both * s.k <= plan.caches.l1d;
    return {.l1 = registers,
            .l2 = stays ? Tile{s.m, kNr, s.k} : registers,
            .l3 = {s.m, blocks_of(s.n, plan.threads), s.k},
            .y_packed = kPacksY || prepacked ? int{sizeof(Yp)} : 0,
            .y_prepacked = prepacked};
  }

  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run,
            .packed_bytes = packed_bytes,
            .pack = pack,
            .run_packed = run_packed,
            .workspace_bytes = workspace_bytes,
            .tiles = tiles};
  }

 private:
  /// Of X, in which the engine keeps a row's head.
  static constexpr std::int64_t kHeadElements = E::kHeader > 0 ? sizeof(std::int32_t) / sizeof(X)
                                                               : 0;
};

}  // namespace
}  // namespace kernels::matmul
