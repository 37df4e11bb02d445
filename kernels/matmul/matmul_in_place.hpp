// The matmul that packs nothing, written once over an engine (matmul_engine.hpp) of one step of K
// whose operands are as wide as its sums: its register tile reads both X and Y where they lie.
// Weights packed before (pack:pre) are panels of kNr columns, K rows each.
//
// Tiles are taken column panel by column panel, all rows of each, so that its kNr columns of Y stay
// near; every thread has as many tiles as the others, or one more.
#pragma once

#include <omp.h>

#include "kernels/matmul/matmul_engine.hpp"

namespace kernels::matmul {
namespace {

/// Elements of Y, 800 x 800, beyond which nothing is gained by it.
constexpr std::int64_t kInPlace = 640000;

template <class E>
struct InPlace {
  using T = typename E::X;
  using V = typename E::V;
  static_assert(E::kGroup == 1 && std::is_same_v<T, typename E::Y> &&
                std::is_same_v<T, typename E::Z>);
  static constexpr std::int64_t kMr = E::kRows, kNr = E::kVectors * E::kLanes;

  /// Where rows lie, and what is between them, in elements.
  template <class P>
  struct Rows {
    P* at;
    std::int64_t apart;
  };

  /// R rows by kNr columns, all `k` steps. The address of a row is a base and at most twice what is
  /// between rows, which an instruction adds up, so that 14 rows take five registers.
  template <int R>
  [[gnu::noinline]] static void tile(std::int64_t k, Rows<const T> x, Rows<const T> y,
                                     Rows<T> z) noexcept {
    constexpr int kShare = 3, kBases = (R + kShare - 1) / kShare;
    V acc[R][E::kVectors];
#pragma GCC unroll 16
    for (auto& row : acc)
#pragma GCC unroll 4
      for (V& sum : row) sum = E::zero();
    const T* base[kBases];
#pragma GCC unroll 8
    for (int i = 0; i < kBases; ++i) {
      base[i] = x.at + kShare * i * x.apart;
      opaque(base[i]);
    }
    for (; k > 0; --k, y.at += y.apart) {
      typename E::W w[E::kVectors];
      E::load_rows(y.at, y.apart, w);
#pragma GCC unroll 4
      for (auto& v : w) opaque(v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const V b = E::broadcast(base[r / kShare] + r % kShare * x.apart);
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v) add_product<E>(acc[r][v], w[v], b);
      }
#pragma GCC unroll 8
      for (auto& b : base) ++b;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        E::put(z.at + r * z.apart + v * E::kLanes, acc[r][v], false, nullptr, 0);
  }

  template <int R>
  static constexpr auto pick_tile(std::int64_t rows) {
    if constexpr (R == 1)
      return tile<1>;
    else
      return rows == R ? tile<R> : pick_tile<R - 1>(rows);
  }

  /// Of the columns behind the last whole panel: a thread's own panel of them, and a tile of sums.
  static constexpr std::int64_t edge_elements(const Shape& s) {
    return s.n % kNr == 0 ? 0 : round_up((s.k + kMr) * kNr, 64);
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return plan.threads * edge_elements(plan.shape) * std::int64_t{sizeof(T)};
  }

  static constexpr std::int64_t width_from(const Shape& s, std::int64_t column) {
    return lesser(kNr, s.n - column);
  }

  /// The columns from `column` on, padded with zeros.
  static void pack_panel(const Shape& s, const T* y, std::int64_t column, T* to) noexcept {
    const std::int64_t width = width_from(s, column);
    y += column;
    for (std::int64_t k = 0; k < s.k; ++k, y += s.n, to += kNr)
      for (std::int64_t j = 0; j < kNr; ++j) to[j] = j < width ? y[j] : T{};
  }

  /// All tiles, with y's panels where `panel_at(column, edge)` says.
  template <class PanelAt>
  static void multiply(const Plan& plan, const T* x, T* z, PanelAt panel_at) {
    const Shape& s = plan.shape;
    const std::int64_t panels = blocks_of(s.m, kMr), all = panels * blocks_of(s.n, kNr);
    const auto row = [&](std::int64_t panel) { return panel * s.m / panels; };
#pragma omp parallel num_threads(plan.threads)
    {
      const std::int64_t thread = omp_get_thread_num();
      T* const edge = static_cast<T*>(plan.workspace) + thread * edge_elements(s);
      std::int64_t last = -1;  // column that y_rows are of
      Rows<const T> y_rows{};
      for (std::int64_t i = all * thread / plan.threads; i < all * (thread + 1) / plan.threads;
           ++i) {
        const std::int64_t m = row(i % panels), rows = row(i % panels + 1) - m;
        const std::int64_t n = i / panels * kNr, width = width_from(s, n);
        if (n != last) y_rows = panel_at(n, edge);
        last = n;
        const auto tile_of = pick_tile<kMr>(rows);
        const Rows<const T> x_rows = {x + m * s.k, s.k};
        T* const to = z + m * s.n + n;
        if (width == kNr) {
          tile_of(s.k, x_rows, y_rows, {to, s.n});
          continue;
        }
        T* const sums = edge + s.k * kNr;
        tile_of(s.k, x_rows, y_rows, {sums, kNr});
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t j = 0; j < width; ++j) to[r * s.n + j] = sums[r * kNr + j];
      }
    }
  }

  static void run(const Plan& plan, const T* x, const T* y, const float*, T* z) {
    const Shape& s = plan.shape;
    multiply(plan, x, z, [&](std::int64_t column, T* edge) -> Rows<const T> {
      if (width_from(s, column) == kNr) return {y + column, s.n};
      pack_panel(s, y, column, edge);
      return {edge, kNr};
    });
  }

  static std::int64_t packed_bytes(const Plan& plan) {
    return plan.shape.k * round_up(plan.shape.n, kNr) * std::int64_t{sizeof(T)};
  }
  static void pack(const Plan& plan, const T* y, const float*, void* packed) {
    const Shape& s = plan.shape;
#pragma omp parallel for num_threads(plan.threads)
    for (std::int64_t column = 0; column < s.n; column += kNr)
      pack_panel(s, y, column, static_cast<T*>(packed) + column * s.k);
  }
  static void run_packed(const Plan& plan, const T* x, const void* packed, const float*, T* z) {
    multiply(plan, x, z, [&](std::int64_t column, T*) -> Rows<const T> {
      return {static_cast<const T*>(packed) + column * plan.shape.k, kNr};
    });
  }

  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const Tile registers = {kMr, kNr, s.k};
    const bool stays = (kNr + kMr) * s.k * std::int64_t{sizeof(T)} <= plan.caches.l1d;
    return {.l1 = registers,
            .l2 = stays ? Tile{s.m, kNr, s.k} : registers,
            .l3 = {s.m, blocks_of(s.n, plan.threads), s.k},
            .y_packed = prepacked ? int{sizeof(T)} : 0,
            .y_prepacked = prepacked};
  }

  static constexpr Routine<T, T, T> routine() {
    return {.run = run,
            .packed_bytes = packed_bytes,
            .pack = pack,
            .run_packed = run_packed,
            .workspace_bytes = workspace_bytes,
            .tiles = tiles};
  }
};

}  // namespace
}  // namespace kernels::matmul
