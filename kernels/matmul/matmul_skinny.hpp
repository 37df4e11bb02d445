// The matmul of few rows, written once over an engine (matmul_engine.hpp).
//
// Y is read once, where it lies, in the order of memory; it is never packed. A task is a segment of
// columns over a part of K; it keeps its M x segment sums in a buffer of its own in cache and adds
// kDepth groups of K a visit: kDepth rows of Y are that many sequential streams for the prefetcher,
// and each loaded vector of Y is used for all M rows. Parts of K are added up at the end.
#pragma once

#include <omp.h>

#include "kernels/matmul/matmul_engine.hpp"

namespace kernels::matmul {
namespace {

template <class E>
struct Skinny {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  static constexpr std::int64_t kNr = E::kVectors * E::kLanes;
  /// Groups a visit: Y in 8 to 12 registers. 3, 4 or 8 in place of 6: no faster at M = 1.
  static constexpr int kDepth = E::kGroup == 1 ? 6 : 4;
  static constexpr std::int64_t kRows = kDepth * E::kGroup;

  struct Layout {
    Shape s;
    std::int64_t segment, segments;  ///< columns a task; how many
    std::int64_t part, parts;        ///< steps of K a task, a multiple of kRows; how many
    std::int64_t x_bytes, sums;      ///< packed X; elements of one thread's sums
  };

  static Layout layout(const Plan& plan) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 512 << 10;
    Layout l{.s = s};
    // A segment: its sums within a quarter of L2. One page of Y each was tried: 14 to 17 % slower
    // at M = 1 in fp32 and bf16.
    const std::int64_t most = l2 / 4 / (s.m * std::int64_t{sizeof(Z)});
    l.segments = blocks_of(s.n, greater(kNr, most / kNr * kNr));
    l.segment = round_up(blocks_of(s.n, l.segments), kNr);
    l.segments = blocks_of(s.n, l.segment);
    // Parts of K: eight tasks a thread, but adding them up may cost a tenth of reading Y at most.
    const std::int64_t wanted = plan.threads > 1 ? blocks_of(8 * plan.threads, l.segments) : 1;
    const std::int64_t affordable =
        greater(1, s.k * std::int64_t{sizeof(Y)} / (20 * s.m * std::int64_t{sizeof(Z)}));
    l.part = round_up(blocks_of(s.k, lesser(wanted, affordable)), kRows);
    l.parts = blocks_of(s.k, l.part);
    l.x_bytes = round_up(round_up(s.k, kRows) * s.m * std::int64_t{sizeof(Xp)}, 4096);
    l.sums = round_up(s.m * l.segment, 4096 / std::int64_t{sizeof(Z)});
    return l;
  }

  static std::int64_t workspace_bytes(const Plan& plan) {
    const Layout l = layout(plan);
    return l.x_bytes + plan.threads * l.sums * std::int64_t{sizeof(Z)} +
           l.parts * l.s.m * l.s.n * std::int64_t{sizeof(Z)};
  }

  static Tiles tiles(const Plan& plan, bool) {
    const Layout l = layout(plan);
    return {.l1 = {l.s.m, kNr, kRows},
            .l2 = {l.s.m, l.segment, kRows},
            .l3 = {l.s.m, l.segment, l.part},
            .x_packed = sizeof(Xp)};
  }

  /// kDepth groups of K of all rows side by side: [K / kRows][M][kRows], padded with zeros.
  static void pack_x(const Layout& l, const X* x, std::int64_t begin, std::int64_t end,
                     Xp* out) noexcept {
    for (std::int64_t k = begin; k < end; k += kRows)
      for (std::int64_t m = 0; m < l.s.m; ++m)
        for (std::int64_t i = 0; i < kRows; ++i)
          out[k * l.s.m + m * kRows + i] =
              k + i < l.s.k ? static_cast<Xp>(x[m * l.s.k + k + i]) : Xp{};
  }

  /// Adds `Depth` groups of one strip of nr columns to the sums of all rows.
  template <int Depth>
  [[gnu::always_inline]] static inline void strip(const Layout& l, const Xp* x, const Y* y,
                                                  std::int64_t ldy, bool add, Z* sums) {
    typename E::W w[Depth][E::kVectors];
#pragma GCC unroll 8
    for (int d = 0; d < Depth; ++d) E::load_rows(y + d * E::kGroup * ldy, ldy, w[d]);
    for (std::int64_t m = 0; m < l.s.m; ++m) {
      typename E::V acc[E::kVectors];
      Z* at = sums + m * kNr;
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        acc[v] = add ? E::load_sums(at + v * E::kLanes) : E::zero();
#pragma GCC unroll 8
      for (int d = 0; d < Depth; ++d) {
        const auto b = E::broadcast(x + m * kRows + d * E::kGroup);
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v) acc[v] = E::step(acc[v], w[d][v], b);
      }
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) E::put(at + v * E::kLanes, acc[v], false, nullptr, 0);
    }
  }

  static void task(const Layout& l, const Xp* x, const Y* y, std::int64_t column,
                   std::int64_t begin, std::int64_t end, Z* sums) noexcept {
    const std::int64_t width = lesser(l.segment, l.s.n - column), whole = width / kNr * kNr;
    for (std::int64_t k = begin; k < end; k += kRows) {
      const Xp* xk = x + k * l.s.m;
      const Y* yk = y + k * l.s.n + column;
      const bool add = k > begin;
      std::int64_t j = 0;
      if (k + kRows <= l.s.k)
        for (; j < whole; j += kNr) strip<kDepth>(l, xk, yk + j, l.s.n, add, sums + j * l.s.m);
      // Rows or columns that are missing: a copy padded with zeros.
      for (; j < width; j += kNr) {
        Y edge[kRows * kNr] = {};
        for (std::int64_t i = 0; i < kRows && k + i < l.s.k; ++i)
          for (std::int64_t c = 0; c < kNr && j + c < width; ++c)
            edge[i * kNr + c] = yk[i * l.s.n + j + c];
        strip<kDepth>(l, xk, edge, kNr, add, sums + j * l.s.m);
      }
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    const Layout l = layout(plan);
    auto* space = static_cast<std::byte*>(plan.workspace);
    Xp* xp = reinterpret_cast<Xp*>(space);
    Z* all_sums = reinterpret_cast<Z*>(space + l.x_bytes);
    Z* partial = all_sums + plan.threads * l.sums;
#pragma omp parallel num_threads(plan.threads)
    {
      Z* sums = all_sums + omp_get_thread_num() * l.sums;
#pragma omp for schedule(static)
      for (std::int64_t p = 0; p < l.parts; ++p)
        pack_x(l, x, p * l.part, lesser((p + 1) * l.part, l.s.k), xp);
        // Dealt out along a row of segments first, so that neighbours in time are neighbours in
        // DRAM.
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t i = 0; i < l.parts * l.segments; ++i) {
        const std::int64_t p = i / l.segments, column = i % l.segments * l.segment;
        task(l, xp, y, column, p * l.part, lesser((p + 1) * l.part, l.s.k), sums);
        const std::int64_t width = lesser(l.segment, l.s.n - column);
        for (std::int64_t m = 0; m < l.s.m; ++m) {
          Z* to = l.parts == 1 ? z : partial + p * l.s.m * l.s.n;
          to += m * l.s.n + column;
          for (std::int64_t strip = 0; strip < width; strip += kNr) {
            const Z* from = sums + strip * l.s.m + m * kNr;
            const std::int64_t count = lesser(kNr, width - strip);
            if (l.parts == 1 && scales != nullptr)
              for (std::int64_t j = 0; j < count; ++j)
                to[strip + j] = from[j] * static_cast<Z>(scales[column + strip + j]);
            else
              for (std::int64_t j = 0; j < count; ++j) to[strip + j] = from[j];
          }
        }
      }
      if (l.parts > 1) {
        constexpr std::int64_t kStep = 512;
        const std::int64_t entries = l.s.m * l.s.n;
#pragma omp for schedule(static)
        for (std::int64_t first = 0; first < entries; first += kStep) {
          Z total[kStep] = {};
          const std::int64_t count = lesser(kStep, entries - first);
          for (std::int64_t p = 0; p < l.parts; ++p)
            for (std::int64_t j = 0; j < count; ++j) total[j] += partial[p * entries + first + j];
          if (scales != nullptr)
            for (std::int64_t j = 0; j < count; ++j)
              total[j] *= static_cast<Z>(scales[(first + j) % l.s.n]);
          for (std::int64_t j = 0; j < count; ++j) z[first + j] = total[j];
        }
      }
    }
  }

  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run, .workspace_bytes = workspace_bytes, .tiles = tiles};
  }
};

}  // namespace
}  // namespace kernels::matmul
