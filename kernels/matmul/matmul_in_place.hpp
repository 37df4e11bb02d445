// The matmul that copies no X, written once over an engine (matmul_engine.hpp): its register tile
// reads X where it lies. So it does Y where an instruction takes one step of K and Y is small.
// Else columns of Y are packed, a panel or two at a time, just before all rows of X pass over them;
// K is a multiple of the steps that an instruction takes. Weights packed before (pack:pre) are such
// panels of kNr columns.
//
// Tiles are taken column panel by column panel, all rows of each, so that its kNr columns of Y stay
// near; every thread has as many tiles as the others, or one more. K is cut into blocks of which a
// panel stays in L2, and the rows of X into parts of which a block stays in L3.
#pragma once

#include <omp.h>

#include <algorithm>

#include "kernels/matmul/matmul_packed_panels.hpp"

namespace kernels::matmul {
namespace {

/// Elements of Y, 800 x 800, beyond which it does not stay where it lies.
constexpr std::int64_t kInPlace = 640000;
/// Rows of X from which a Y beyond that is offered. 256 rows of cold weights, two cores of Zen 5:
/// 0.88 to 1.02 times as fast as by panels of X, whose tiles ask for Y.
constexpr std::int64_t kManyRows = 512;
inline bool in_place_offers(std::string_view, const Shape& s, int) {
  return s.k * s.n <= kInPlace || s.m >= kManyRows;
}

template <class E>
struct InPlace {
  using X = typename E::X;
  using Y = typename E::Y;
  using Yp = typename E::Yp;
  using Z = typename E::Z;
  using V = typename E::V;
  static constexpr bool kAlwaysPacksY = E::kGroup > 1;
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

  /// Elements from one group of Y to the next, a constant where Y is always packed.
  static constexpr std::int64_t kPackedGroup = kNr * E::kGroup;
  static std::int64_t group_of(const Rows<const Yp>& y) {
    return kAlwaysPacksY ? kPackedGroup : y.apart;
  }

  /// One group of K. The address of a row is a base and at most twice what is between rows, which
  /// an instruction adds up, so that 14 rows take five registers.
  static constexpr int kShare = 3;
  template <int R>
  [[gnu::always_inline]] static void add(V (&acc)[R][E::kVectors], const X* const* base,
                                         std::int64_t apart, Rows<const Yp> y) {
    typename E::W w[E::kVectors];
    if constexpr (kAlwaysPacksY)
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
  [[gnu::always_inline]] static void put(const V (&sums)[R][E::kVectors], Rows<Z> z,
                                         bool accumulate) {
    const auto put_all = [&](auto added) __attribute__((always_inline)) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          E::put(z.at + r * z.apart + v * E::kLanes, sums[r][v], added(), nullptr, 0);
    };
    accumulate ? put_all(std::true_type()) : put_all(std::false_type());
  }

  /// R rows by kNr columns, all `groups` of K; sums start from what `head` tells. NOTES.md, "The
  /// tile on X where it lies".
  template <int R>
  [[gnu::noinline]] static void tile(std::int64_t groups, Rows<const X> x, Rows<const Yp> y,
                                     Rows<Z> z, const X* head, bool accumulate) noexcept {
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
    for (int row = y.apart == kPackedGroup ? 0 : R; groups > 0; --groups) {
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
    put<R>(acc, z, accumulate);
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
  static bool packs_y(const Shape& s) { return kAlwaysPacksY || s.k * s.n > kInPlace; }
  /// Steps of K a block: of which a panel of Y has a quarter of L2.
  static std::int64_t depth_of(const Plan& plan) {
    const Shape& s = plan.shape;
    if (!packs_y(s)) return s.k;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 512 << 10;
    const std::int64_t most = l2 / 4 / (kNr * std::int64_t{sizeof(Yp)});
    const std::int64_t blocks = blocks_of(s.k, greater(most, kStep));
    return round_up(blocks_of(s.k, blocks), kStep);
  }
  static constexpr std::int64_t kStep = 64;
  static std::int64_t panels_bytes(const Plan& plan) {
    const Shape& s = plan.shape;
    if (!packs_y(s) && s.n % kNr == 0) return 0;
    return round_up(kAtOnce * depth_of(plan) * kNr * std::int64_t{sizeof(Yp)}, kLine);
  }
  static std::int64_t sums_bytes(const Shape& s) {
    return s.n % kNr == 0 ? 0 : round_up(kMr * kNr * std::int64_t{sizeof(Z)}, kLine);
  }
  static std::int64_t heads_bytes(const Shape& s) {
    return E::kHeader > 0 ? round_up(s.m * std::int64_t{sizeof(std::int32_t)}, kLine) : 0;
  }
  static std::int64_t own_bytes(const Plan& plan) {
    return panels_bytes(plan) + sums_bytes(plan.shape) + heads_bytes(plan.shape);
  }
  static std::int64_t workspace_bytes(const Plan& plan) { return plan.threads * own_bytes(plan); }
  static Own own(const Plan& plan, std::int64_t thread) {
    std::byte* const at = static_cast<std::byte*>(plan.workspace) + thread * own_bytes(plan);
    std::byte* const sums = at + panels_bytes(plan);
    return {reinterpret_cast<Yp*>(at), reinterpret_cast<Z*>(sums),
            reinterpret_cast<X*>(sums + sums_bytes(plan.shape))};
  }

  static constexpr std::int64_t width_from(const Shape& s, std::int64_t column) {
    return lesser(kNr, s.n - column);
  }

  /// Steps of K.
  struct Block {
    std::int64_t begin, depth;
  };
  /// Of `count` panels from `column` on, padded with zeros.
  static void pack_panels(const Shape& s, const Y* y, Block k, std::int64_t column,
                          std::int64_t count, Yp* to) noexcept {
    PackedLayout<E> layout;
    layout.s = s;
    pack_y<E>(layout, y + k.begin * s.n, k.depth, column / kNr, column / kNr + count, to,
              k.depth * kNr);
  }
  static Rows<const Yp> packed(const Yp* panel) { return {panel, kPackedGroup}; }

  /// Rows of X are taken in so many parts, of which a block of K has a quarter of L3.
  static std::int64_t row_parts(const Plan& plan, std::int64_t depth) {
    const std::int64_t l3 = plan.caches.l3 > 0 ? plan.caches.l3 : plan.caches.l2 * 4;
    const std::int64_t bytes = plan.shape.m * depth * std::int64_t{sizeof(X)};
    return l3 > 0 ? lesser(blocks_of(bytes, l3 / 4), blocks_of(plan.shape.m, kMr)) : 1;
  }

  /// All tiles, with y's panels where `panel_at(block of K, column, own panels, whether it is the
  /// first of the block)` says.
  template <class PanelAt>
  static void multiply(const Plan& plan, const X* x, Z* z, PanelAt panel_at) {
    const Shape& s = plan.shape;
    const std::int64_t depth = depth_of(plan), high = blocks_of(s.m, kMr),
                       parts = row_parts(plan, depth);
#pragma omp parallel num_threads(plan.threads)
    {
      const std::int64_t thread = omp_get_thread_num();
      const Own mine = own(plan, thread);
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t top = part * high / parts, tiles = (part + 1) * high / parts - top;
        const std::int64_t all = tiles * blocks_of(s.n, kNr);
        for (std::int64_t k = 0; k < s.k; k += depth)
          multiply_part(s, x, z, {k, lesser(depth, s.k - k)}, top, tiles,
                        all * thread / plan.threads, all * (thread + 1) / plan.threads, mine,
                        panel_at);
      }
    }
  }

  /// A block of K of tiles [begin, end) of those that `tiles` rows of tiles from `top` on have.
  template <class PanelAt>
  static void multiply_part(const Shape& s, const X* x, Z* z, Block k, std::int64_t top,
                            std::int64_t tiles, std::int64_t begin, std::int64_t end,
                            const Own& mine, PanelAt panel_at) {
    const std::int64_t high = blocks_of(s.m, kMr);
    const auto row = [&](std::int64_t q) { return q * s.m / high; };
    const bool accumulate = k.begin > 0;
    Rows<const Yp> y_rows{};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t q = top + i % tiles, m = row(q), rows = row(q + 1) - m;
      const std::int64_t n = i / tiles * kNr, width = width_from(s, n);
      if (q == top || i == begin) y_rows = panel_at(k, n, mine.panels, i == begin);
      X* const head = mine.heads + m * kHeadElements;
      if constexpr (E::kHeader > 0)
        if (i - begin < tiles) put_heads(s, x, k, m, rows, head);
      const Rows<const X> x_rows = {x + m * s.k + k.begin, s.k};
      const Rows<Z> z_rows = {z + m * s.n + n, s.n}, edge = {mine.sums, kNr};
      pick_tile<kMr>(rows)(k.depth / E::kGroup, x_rows, y_rows, width == kNr ? z_rows : edge, head,
                           accumulate && width == kNr);
      for (std::int64_t r = 0; width < kNr && r < rows; ++r)
        for (std::int64_t j = 0; j < width; ++j) {
          Z& to = z_rows.at[r * s.n + j];
          to = accumulate ? to + mine.sums[r * kNr + j] : mine.sums[r * kNr + j];
        }
    }
  }

  /// What all of K starts from goes with its first block.
  static void put_heads(const Shape& s, const X* x, Block k, std::int64_t m, std::int64_t rows,
                        X* head) {
    if (k.begin == 0)
      E::heads(x + m * s.k, rows, s.k, head);
    else
      std::fill(head, head + rows * kHeadElements, X{});
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float*, Z* z) {
    static_assert(kAtOnce <= 2, "or a range that begins within a set leaves places between");
    const Shape& s = plan.shape;
    const bool packs = packs_y(s);
    multiply(plan, x, z,
             [&](Block k, std::int64_t column, Yp* panels, bool first) -> Rows<const Yp> {
               if (!packs && width_from(s, column) == kNr) return {y + column, s.n};
               const std::int64_t p = column / kNr, i = p % kAtOnce;
               if (i > 0 && !first) return packed(panels + i * k.depth * kNr);
               const std::int64_t count = lesser(kAtOnce - i, blocks_of(s.n, kNr) - p);
               pack_panels(s, y, k, column, count, panels);
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
      pack_panels(s, y, {0, s.k}, column, 1, static_cast<Yp*>(to) + column * s.k);
  }
  static void run_packed(const Plan& plan, const X* x, const void* panels, const float*, Z* z) {
    multiply(plan, x, z, [&](Block k, std::int64_t column, Yp*, bool) {
      return packed(static_cast<const Yp*>(panels) + column * plan.shape.k + k.begin * kNr);
    });
  }

  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const std::int64_t depth = depth_of(plan), parts = row_parts(plan, depth),
                       rows = blocks_of(s.m, parts);
    const Tile registers = {kMr, kNr, depth};
    const std::int64_t both = kNr * std::int64_t{sizeof(Yp)} + kMr * std::int64_t{sizeof(X)};
    const bool stays = both * depth <= plan.caches.l1d;
    return {.l1 = registers,
            .l2 = stays ? Tile{rows, kNr, depth} : registers,
            .l3 = {rows, blocks_of(s.n, plan.threads), depth},
            .y_packed = packs_y(s) || prepacked ? int{sizeof(Yp)} : 0,
            .y_packs = parts,
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
