// The packed matmul, written once over an engine: an instruction set's register tile for one dtype.
//
// Panels. X is packed in panels of up to mr rows: for each chunk of kChunk steps of K, a row's
// values stay together, so packing is a copy of whole vectors and the kernel broadcasts them at
// constant offsets. Y is packed in panels of nr columns: for each group of kGroup steps (the
// products that one instruction adds up), nr columns with their kGroup values side by side. K is
// padded with zeros.
//
// Loops, in GotoBLAS's manner: K in blocks of kc, so that a kc x nr panel of Y is of L1's size
// while the mc x kc block of X in L2 passes over it. Rows and columns are dealt out as tasks of mc
// rows by nc columns, taken dynamically; all threads pack, wait for each other, and share the
// panels. Mostly Z is cut into parts instead, for each of which one thread packs all it needs of X
// and Y, block by block of K: what another core has packed comes slower than from its own L2, or
// than what that has dropped (NOTES.md, "A thread packs for itself").
//
// In a part a panel of Y is packed just before it is first multiplied, and what is packed next, of
// X too, is asked for into L2 in the tiles before: packing then takes 1 to 4 % of the time in place
// of 5 to 7 (Zen 5, 1024 cubed, fp32). Panels of X but the first are packed within the tiles of the
// panels before them, whose multiply-adds leave loads and stores room. NOTES.md, "Packing beside
// the tiles".
#pragma once

#include <omp.h>

#include "kernels/matmul/matmul_packed_panels.hpp"
#include "kernels/shares.hpp"

namespace kernels::matmul {
namespace {

template <class E>
struct Packed {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  using Yp = typename E::Yp;
  using Layout = PackedLayout<E>;
  static constexpr std::int64_t kNr = Layout::kNr, kAtOnce = Layout::kAtOnce,
                                kStrip = Layout::kStrip;

  /// The row panels [row_begin, row_end) of one K block of X on panel p of Y.
  template <class Next, class Beside>
  static void multiply_panel(const Layout& l, std::int64_t block, const Xp* x, const Yp* y,
                             std::int64_t row_begin, std::int64_t row_end, std::int64_t p,
                             const float* scales, Z* z, Next& next, Beside& beside,
                             NextX<E>& next_x) noexcept {
    const std::int64_t groups = blocks_of(l.depth(block), E::kGroup);
    const std::int64_t column = p * kNr, width = lesser(kNr, l.s.n - column);
    for (std::int64_t q = row_begin; q < row_end; ++q) {
      const std::int64_t row = l.row(q);
      pick_tile<E, E::kRows>(l.row(q + 1) - row)(groups, x + q * l.x_panel, y, 0,
                                                 z + row * l.s.n + column, l.s.n, width, block > 0,
                                                 scales != nullptr ? scales + column : nullptr,
                                                 next.piece(), beside.piece(), next_x.behind(q));
      next_x.packed_behind(q);
      if constexpr (requires { next.pack(); }) next.pack();
    }
    next_x.all_packed();
  }

  /// One K block of one task: `y` are its column panels' packed data, `panel` elements apart.
  /// `next` is where the next block's data for these columns begin, null at the last block. Every
  /// tile asks for a piece of `beside`, too.
  template <class Beside>
  static void compute(const Layout& l, std::int64_t block, const Xp* x, const Yp* y,
                      std::int64_t panel, const Yp* next, std::int64_t row_begin,
                      std::int64_t row_end, std::int64_t column_begin, std::int64_t column_end,
                      const float* scales, Z* z, Beside& beside, NextX<E> next_x) noexcept {
    // In L2 and read once, lines come without: asking costs up to 13 %.
    const bool near = !l.y_far && row_end - row_begin == 1;
    for (std::int64_t p = column_begin; p < column_end; ++p, y += panel) {
      const Yp* const after = p + 1 < column_end ? y + panel : next;
      NextPanel<E> ahead(l, near ? nullptr : after, l.depth(block), row_end - row_begin);
      multiply_panel(l, block, x, y, row_begin, row_end, p, scales, z, ahead, beside, next_x);
    }
  }

  /// Rows of one panel and weights packed before: all K blocks of `count` panels side by side from
  /// p on, so that each is read once and in order, and lines are asked for `l.far` bytes on.
  static void few_rows(const Layout& l, const Xp* x, const Yp* held, std::int64_t p,
                       std::int64_t count, const float* scales, Z* z) noexcept {
    const std::int64_t column = p * kNr, width = lesser(kNr, l.s.n - column);
    const auto tile_of = count == 4                 ? tile<E, 1, 4>
                         : count == 2               ? tile<E, 1, 2>
                         : l.s.m == 1 && l.far == 0 ? tile<E, 1, 1, 0>
                                                    : pick_tile<E, E::kRows, true>(l.s.m);
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const Yp* y = held + l.held(block, p);
      const Ahead ahead{.at = reinterpret_cast<const std::byte*>(y) + l.far,
                        .rows = l.far > 0 ? E::kChunk * kNr * std::int64_t{sizeof(Yp)} / kLine : 0,
                        .into_l1 = l.into_l1,
                        .back = l.again > 0 ? l.far - l.again : 0};
      tile_of(blocks_of(l.depth(block), E::kGroup), x + block * l.x_panel, y, l.column(),
              z + column, l.s.n, width, block > 0, scales != nullptr ? scales + column : nullptr,
              ahead, {}, {});
    }
  }

  /// All rows on panel p of weights packed before. While the panels of rows pass over a block of
  /// it, the next one is asked for. Their sums lie together until they are complete.
  static void stream_panel(const Layout& l, const Xp* x, const Yp* held, std::int64_t p,
                           const float* scales, Z* sums, Z* z) noexcept {
    for (std::int64_t block = 0; block < l.k_blocks; ++block, x += l.panels * l.x_panel) {
      const Yp* const y = held + l.held(block, p);
      NextPanel<E> next(l, y + l.y_panel, l.depth(block), l.panels);
      for (std::int64_t q = 0; q < l.panels; ++q)
        pick_tile<E, E::kRows, true>(l.row(q + 1) - l.row(q))(
            blocks_of(l.depth(block), E::kGroup), x + q * l.x_panel, y, 0, sums + l.row(q) * kNr,
            kNr, kNr, block > 0, nullptr, next.piece(), {}, {});
    }
    move_sums(l, sums, p, scales, z);
  }

  static void multiply_streams(const Plan& plan, const Layout& l, const X* x, const Yp* held,
                               const float* scales, Z* z) {
    std::byte* const space = static_cast<std::byte*>(plan.workspace);
    Xp* const x_panels = reinterpret_cast<Xp*>(space);
    std::byte* const sums = space + l.x_bytes();
    Share* const shares = reinterpret_cast<Share*>(sums + plan.threads * l.stream_sums_bytes());
    const std::int64_t whole = l.s.n / kNr / l.side;
    const std::int64_t all = whole + l.columns - whole * l.side, own = blocks_of(all, plan.threads);
    clear(shares, plan.threads);
#pragma omp parallel num_threads(plan.threads)
    {
#pragma omp for
      for (std::int64_t i = 0; i < l.k_blocks * l.panels; ++i) {
        const std::int64_t block = i / l.panels, q = i % l.panels;
        pack_x<E>(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q),
                  l.depth(block), x_panels + i * l.x_panel);
      }
      const int thread = omp_get_thread_num();
      Z* const own_sums = reinterpret_cast<Z*>(sums + thread * l.stream_sums_bytes());
      take_pieces(shares, plan.threads, thread, own, [&](int owner, std::int64_t at) {
        const std::int64_t i = owner * own + at;
        if (i >= all) return;
        if (l.panels > 1)
          stream_panel(l, x_panels, held, i, scales, own_sums, z);
        else if (i < whole)
          few_rows(l, x_panels, held, i * l.side, l.side, scales, z);
        else
          few_rows(l, x_panels, held, whole * l.side + i - whole, 1, scales, z);
      });
    }
  }

  static void multiply_parts(const Plan& plan, const Layout& l, const X* x, const Y* y,
                             const Yp* prepacked, const float* scales, Z* z) {
    const std::int64_t own_bytes =
        l.part_x_bytes() + (prepacked == nullptr ? l.part_y_bytes() + l.part_z_bytes() : 0);
    const std::int64_t parts = l.row_parts * l.column_parts;
#pragma omp parallel num_threads(plan.threads)
    {
      std::byte* const own =
          static_cast<std::byte*>(plan.workspace) + omp_get_thread_num() * own_bytes;
      Xp* const x_panels = reinterpret_cast<Xp*>(own);
      Yp* const y_panels = reinterpret_cast<Yp*>(own + l.part_x_bytes());
      // The same part for the same thread in every call.
#pragma omp for schedule(static) nowait
      for (std::int64_t i = 0; i < plan.threads; ++i)
        multiply_part(l, i, x, y, prepacked, scales, z, x_panels, y_panels);
      if (parts > plan.threads) {
#pragma omp for schedule(dynamic, 1) nowait
        for (std::int64_t i = plan.threads; i < parts; ++i)
          multiply_part(l, i, x, y, prepacked, scales, z, x_panels, y_panels);
      }
    }
  }

  static void multiply_part(const Layout& l, std::int64_t i, const X* x, const Y* y,
                            const Yp* prepacked, const float* scales, Z* z, Xp* x_panels,
                            Yp* y_panels) {
    const std::int64_t r = i % l.row_parts, c = i / l.row_parts;
    const std::int64_t q = r * l.panels / l.row_parts, q_end = (r + 1) * l.panels / l.row_parts;
    const std::int64_t p = c * l.columns / l.column_parts,
                       p_end = (c + 1) * l.columns / l.column_parts;
    if (l.in_turns) return multiply_in_turns(l, x, y, p, p_end, scales, z, x_panels);
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const Yp* const panels = prepacked == nullptr ? y_panels : prepacked + l.held(block, p);
      const std::int64_t chunks = greater(1, l.depth(block) / E::kChunk);
      for (std::int64_t a = q; a < q_end; a += l.x_part) {
        const std::int64_t a_end = lesser(a + l.x_part, q_end);
        NextRows<E> rows =
            a_end < q_end ? NextRows<E>(l, x, block, a_end, lesser(a_end + l.x_part, q_end), chunks)
                          : NextRows<E>(l, x, block + 1, q, lesser(q + l.x_part, q_end), chunks);
        Xp* const from = x_panels - a * l.x_panel;
        const NextX<E> next_x(l, x, block, a, a_end, from);
        if (a == q && prepacked == nullptr)
          pack_and_multiply(l, block, from, y + block * l.kc * l.s.n, a, a_end, p, p_end, scales, z,
                            rows, y_panels, next_x);
        else
          compute(l, block, from, panels, prepacked == nullptr ? l.y_panel : l.column(), nullptr, a,
                  a_end, p, p_end, scales, z, rows, next_x);
      }
    }
  }

  /// compute() of rows of Y that are packed to `y_panels` on the way, each panel or two between the
  /// tiles of those before.
  static void pack_and_multiply(const Layout& l, std::int64_t block, const Xp* x, const Y* y,
                                std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
                                std::int64_t end, const float* scales, Z* z, NextRows<E>& rows,
                                Yp* y_panels, NextX<E> next_x) noexcept {
    const std::int64_t depth = l.depth(block), apart = kAtOnce * l.y_panel;
    Yp *now = y_panels, *after = y_panels + apart;
    pack_y<E>(l, y, depth, begin, lesser(begin + kAtOnce, end), now, l.y_panel);
    for (std::int64_t p = begin; p < end; p += kAtOnce) {
      const std::int64_t p_end = lesser(p + kAtOnce, end);
      NextPacked<E> next(l, y, depth, p_end, lesser(p_end + kAtOnce, end), after,
                         (p_end - p) * (row_end - row_begin));
      for (std::int64_t i = p; i < p_end; ++i)
        multiply_panel(l, block, x, now + (i - p) * l.y_panel, row_begin, row_end, i, scales, z,
                       next, rows, next_x);
      next.pack_all();
      Yp* const used = now;
      now = after;
      after = l.y_waits() ? after + apart : used;
    }
  }

  /// The part of panels [begin, end), all rows. Its sums lie together until they are complete: rows
  /// of Z may be a power of two apart and share few sets of L1, which costs 3 to 9 % from 32 rows
  /// on.
  static void multiply_in_turns(const Layout& l, const X* x, const Y* y, std::int64_t begin,
                                std::int64_t end, const float* scales, Z* z, Xp* x_panels) {
    std::byte* const space = reinterpret_cast<std::byte*>(x_panels) + l.part_x_bytes();
    Yp* const y_panels = reinterpret_cast<Yp*>(space);
    Z* const sums = reinterpret_cast<Z*>(space + l.part_y_bytes());
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const std::int64_t depth = l.depth(block), groups = blocks_of(depth, E::kGroup);
      for (std::int64_t q = 0; q < l.panels; ++q)
        pack_x<E>(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q), depth,
                  x_panels + q * l.x_panel);
      for (std::int64_t strip = begin; strip < end; strip += kStrip) {
        NextStrip<E> next = next_strip<E>(l, y, block, strip, begin, end);
        const std::int64_t strip_end = lesser(strip + kStrip, end);
        for (std::int64_t p = strip; p < strip_end; p += kAtOnce) {
          const std::int64_t p_end = lesser(p + kAtOnce, strip_end);
          pack_y<E>(l, y + block * l.kc * l.s.n, depth, p, p_end, y_panels, l.y_panel,
                    next.piece());
          for (std::int64_t i = p; i < p_end; ++i)
            for (std::int64_t q = 0; q < l.panels; ++q)
              pick_tile<E, E::kRows>(l.row(q + 1) - l.row(q))(
                  groups, x_panels + q * l.x_panel, y_panels + (i - p) * l.y_panel, 0,
                  sums + ((i - begin) * l.s.m + l.row(q)) * kNr, kNr, kNr, block > 0, nullptr,
                  next.piece(), {}, {});
        }
      }
    }
    for (std::int64_t p = begin; p < end; ++p)
      move_sums(l, sums + (p - begin) * l.s.m * kNr, p, scales, z);
  }

  /// Columns of panel p to Z, times their scales.
  static void move_sums(const Layout& l, const Z* sums, std::int64_t p, const float* scales, Z* z) {
    const std::int64_t column = p * kNr, width = lesser(kNr, l.s.n - column);
    z += column;
    for (std::int64_t m = 0; m < l.s.m; ++m, sums += kNr, z += l.s.n)
      for (std::int64_t j = 0; j < width; ++j)
        z[j] = scales != nullptr ? sums[j] * static_cast<Z>(scales[column + j]) : sums[j];
  }

  static void multiply(const Plan& plan, const Layout& l, const X* x, const Y* y,
                       const Yp* prepacked, const float* scales, Z* z) {
    if (l.row_parts > 0) return multiply_parts(plan, l, x, y, prepacked, scales, z);
    if (l.streams) return multiply_streams(plan, l, x, prepacked, scales, z);
    Xp* x_panels = static_cast<Xp*>(plan.workspace);
    Yp* y_panels = reinterpret_cast<Yp*>(static_cast<std::byte*>(plan.workspace) + l.x_bytes());
    Nothing nothing;
    const std::int64_t row_tasks = blocks_of(l.panels, l.mc),
                       column_tasks = blocks_of(l.columns, l.nc);
#pragma omp parallel num_threads(plan.threads)
    {
      for (std::int64_t first = 0; first < l.k_blocks; first += l.pass) {
        const std::int64_t last = lesser(first + l.pass, l.k_blocks);
#pragma omp for schedule(dynamic, 4) nowait
        for (std::int64_t i = 0; i < (last - first) * l.panels; ++i) {
          const std::int64_t block = first + i / l.panels, q = i % l.panels;
          pack_x<E>(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q),
                    l.depth(block), x_panels + i * l.x_panel);
        }
        if (prepacked == nullptr) {
#pragma omp for schedule(dynamic, 1) nowait
          for (std::int64_t i = 0; i < (last - first) * column_tasks; ++i) {
            const std::int64_t block = first + i / column_tasks, p = i % column_tasks * l.nc;
            pack_y<E>(l, y + block * l.kc * l.s.n, l.depth(block), p, lesser(p + l.nc, l.columns),
                      y_panels + ((block - first) * l.columns + p) * l.y_panel, l.y_panel);
          }
        }
#pragma omp barrier
#pragma omp for schedule(dynamic, 1) nowait
        for (std::int64_t i = 0; i < row_tasks * column_tasks; ++i) {
          const std::int64_t p = i / row_tasks * l.nc, p_end = lesser(p + l.nc, l.columns);
          const std::int64_t q = i % row_tasks * l.mc, q_end = lesser(q + l.mc, l.panels);
          for (std::int64_t block = first; block < last; ++block) {
            const Yp* const panels = prepacked != nullptr
                                         ? prepacked + l.held(block, p)
                                         : y_panels + ((block - first) * l.columns + p) * l.y_panel;
            const std::int64_t further = prepacked != nullptr ? l.y_panel : l.columns * l.y_panel;
            compute(l, block, x_panels + (block - first) * l.panels * l.x_panel, panels,
                    prepacked == nullptr ? l.y_panel : l.column(),
                    block + 1 < last ? panels + further : nullptr, q, q_end, p, p_end, scales, z,
                    nothing, {});
          }
        }
        if (last < l.k_blocks) {
#pragma omp barrier
        }
      }
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    multiply(plan, Layout::of(plan, false), x, y, nullptr, scales, z);
  }

  static std::int64_t packed_bytes(const Plan& plan) {
    const Layout l = Layout::of(plan, true);
    return l.k_blocks * l.columns * l.y_panel * std::int64_t{sizeof(Yp)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Layout l = Layout::of(plan, true);
    const std::int64_t column_tasks = blocks_of(l.columns, l.nc);
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
    for (std::int64_t i = 0; i < l.k_blocks * column_tasks; ++i) {
      const std::int64_t block = i / column_tasks, p = i % column_tasks * l.nc;
      pack_y<E>(l, y + block * l.kc * l.s.n, l.depth(block), p, lesser(p + l.nc, l.columns),
                static_cast<Yp*>(packed) + l.held(block, p), l.column());
    }
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float* scales,
                         Z* z) {
    multiply(plan, Layout::of(plan, true), x, nullptr, static_cast<const Yp*>(packed), scales, z);
  }

  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run,
            .packed_bytes = packed_bytes,
            .pack = pack,
            .run_packed = run_packed,
            .workspace_bytes = Layout::workspace_bytes,
            .tiles = Layout::tiles};
  }
};

}  // namespace
}  // namespace kernels::matmul
