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

  /// One group of K: rows [kBegin, kEnd) of a tile, whose sums are `acc`. The address of a row is a
  /// base and at most twice what is between rows, which an instruction adds up, so that 14 rows
  /// take five registers.
  static constexpr int kShare = 3;
  template <int kBegin, int kEnd>
  [[gnu::always_inline]] static void add(V (&acc)[kEnd - kBegin][E::kVectors], const X* const* base,
                                         std::int64_t apart, Rows<const Yp> y) {
    typename E::W w[E::kVectors];
    if constexpr (kPacksY)
      E::load_y(y.at, w);
    else
      E::load_rows(y.at, y.apart, w);
#pragma GCC unroll 4
    for (auto& v : w) opaque(v);
#pragma GCC unroll 16
    for (int r = kBegin; r < kEnd; ++r) {
      const auto b = E::broadcast(base[r / kShare] + r % kShare * apart);
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) add_product<E>(acc[r - kBegin][v], w[v], b);
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

  /// Rows [kBegin, kEnd) by the last kLast groups, and to Z.
  static constexpr int kLast = E::kChunk / E::kGroup;
  template <int kBegin, int kEnd>
  [[gnu::always_inline]] static void finish(const V (*acc)[E::kVectors], const X* const* base,
                                            std::int64_t apart, Rows<const Yp> y, Rows<Z> z) {
    constexpr int kBases = (kEnd + kShare - 1) / kShare;
    V sums[kEnd - kBegin][E::kVectors];
#pragma GCC unroll 16
    for (int r = kBegin; r < kEnd; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) sums[r - kBegin][v] = acc[r][v];
#pragma GCC unroll 16
    for (int g = 0; g < kLast; ++g, y.at += group_of(y)) {
      const X* at[kBases];
#pragma GCC unroll 8
      for (int i = kBegin / kShare; i < kBases; ++i) at[i] = base[i] + g * E::kGroup;
      add<kBegin, kEnd>(sums, at, apart, y);
    }
    put<kEnd - kBegin>(sums, {z.at + kBegin * z.apart, z.apart});
  }

  /// R rows by kNr columns, all `groups` of K; sums start from what `head` tells. High tiles of 16
  /// and 8 bits end in thirds, as those of panels do (kInThirds, matmul_tile.hpp): a core of Zen 4,
  /// 128 to 512 cubed, bf16 0.995 to 1.016, int8 1.00 to 1.02 times as fast, packed before 0.995 to
  /// 1.00; fp32 and fp64 0.975 to 1.003.
  template <int R>
  [[gnu::noinline]] static void tile(std::int64_t groups, Rows<const X> x, Rows<const Yp> y,
                                     Rows<Z> z, const X* head) noexcept {
    constexpr int kBases = (R + kShare - 1) / kShare;
    constexpr bool kThirds = R > 8 && kPacksY;
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
    const bool thirds = kThirds && groups >= kLast;
    for (groups -= thirds ? kLast : 0; groups > 0; --groups) {
      add<0, R>(acc, base, x.apart, y);
#pragma GCC unroll 8
      for (auto& b : base) b += E::kGroup;
      y.at += group_of(y);
    }
    if constexpr (kThirds) {
      if (thirds) {
        constexpr int kOne = (R + 2) / 3, kTwo = (2 * R + 2) / 3;
        finish<0, kOne>(acc, base, x.apart, y, z);
        finish<kOne, kTwo>(acc, base, x.apart, y, z);
        finish<kTwo, R>(acc, base, x.apart, y, z);
        return;
      }
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

  /// A thread's own: a panel of Y (where Y lies in place, of the columns behind the last whole
  /// panel alone), a tile of sums of those columns, and what the engine wants to know of X's rows.
  struct Own {
    Yp* panel;
    Z* sums;
    X* heads;
  };
  static std::int64_t panel_bytes(const Shape& s) {
    if (!kPacksY && s.n % kNr == 0) return 0;
    return round_up(s.k * kNr * std::int64_t{sizeof(Yp)}, kLine);
  }
  static std::int64_t sums_bytes(const Shape& s) {
    return s.n % kNr == 0 ? 0 : round_up(kMr * kNr * std::int64_t{sizeof(Z)}, kLine);
  }
  static std::int64_t heads_bytes(const Shape& s) {
    return E::kHeader > 0 ? round_up(s.m * std::int64_t{sizeof(std::int32_t)}, kLine) : 0;
  }
  static std::int64_t own_bytes(const Shape& s) {
    return panel_bytes(s) + sums_bytes(s) + heads_bytes(s);
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return plan.threads * own_bytes(plan.shape);
  }
  static Own own(const Plan& plan, std::int64_t thread) {
    const Shape& s = plan.shape;
    std::byte* const at = static_cast<std::byte*>(plan.workspace) + thread * own_bytes(s);
    return {reinterpret_cast<Yp*>(at), reinterpret_cast<Z*>(at + panel_bytes(s)),
            reinterpret_cast<X*>(at + panel_bytes(s) + sums_bytes(s))};
  }

  static constexpr std::int64_t width_from(const Shape& s, std::int64_t column) {
    return lesser(kNr, s.n - column);
  }

  /// The columns from `column` on, padded with zeros.
  static void pack_panel(const Shape& s, const Y* y, std::int64_t column, Yp* to) noexcept {
    if constexpr (kPacksY) {
      PackedLayout<E> layout;
      layout.s = s;
      pack_y<E>(layout, y, s.k, column / kNr, column / kNr + 1, to, 0);
    } else {
      const std::int64_t width = width_from(s, column);
      y += column;
      for (std::int64_t k = 0; k < s.k; ++k, y += s.n, to += kNr)
        for (std::int64_t j = 0; j < kNr; ++j) to[j] = j < width ? y[j] : Y{};
    }
  }
  static Rows<const Yp> packed(const Yp* panel) { return {panel, kPackedGroup}; }

  /// All tiles, with y's panels where `panel_at(column, own panel)` says.
  template <class PanelAt>
  static void multiply(const Plan& plan, const X* x, Z* z, PanelAt panel_at) {
    const Shape& s = plan.shape;
    const std::int64_t panels = blocks_of(s.m, kMr), all = panels * blocks_of(s.n, kNr);
    const auto row = [&](std::int64_t panel) { return panel * s.m / panels; };
#pragma omp parallel num_threads(plan.threads)
    {
      const std::int64_t thread = omp_get_thread_num();
      const Own mine = own(plan, thread);
      if constexpr (E::kHeader > 0) E::heads(x, s.m, s.k, mine.heads);
      std::int64_t last = -1;  // column that y_rows are of
      Rows<const Yp> y_rows{};
      for (std::int64_t i = all * thread / plan.threads; i < all * (thread + 1) / plan.threads;
           ++i) {
        const std::int64_t m = row(i % panels), rows = row(i % panels + 1) - m;
        const std::int64_t n = i / panels * kNr, width = width_from(s, n);
        if (n != last) y_rows = panel_at(n, mine.panel);
        last = n;
        const auto tile_of = pick_tile<kMr>(rows);
        const Rows<const X> x_rows = {x + m * s.k, s.k};
        const X* const head = mine.heads + m * kHeadElements;
        Z* const to = z + m * s.n + n;
        if (width == kNr) {
          tile_of(s.k / E::kGroup, x_rows, y_rows, {to, s.n}, head);
          continue;
        }
        tile_of(s.k / E::kGroup, x_rows, y_rows, {mine.sums, kNr}, head);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < width; ++j) to[r * s.n + j] = mine.sums[r * kNr + j];
      }
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    const Shape& s = plan.shape;
    multiply(plan, x, z, [&](std::int64_t column, Yp* panel) -> Rows<const Yp> {
      if (!kPacksY && width_from(s, column) == kNr) return {y + column, s.n};
      pack_panel(s, y, column, panel);
      return packed(panel);
    });
  }

  static std::int64_t packed_bytes(const Plan& plan) {
    return plan.shape.k * round_up(plan.shape.n, kNr) * std::int64_t{sizeof(Yp)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* to) {
    const Shape& s = plan.shape;
#pragma omp parallel for num_threads(plan.threads)
    for (std::int64_t column = 0; column < s.n; column += kNr)
      pack_panel(s, y, column, static_cast<Yp*>(to) + column * s.k);
  }
  static void run_packed(const Plan& plan, const X* x, const void* panels, const float*, Z* z) {
    multiply(plan, x, z, [&](std::int64_t column, Yp*) {
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
