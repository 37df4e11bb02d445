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
// than what that has dropped. Four cores of Zen 4 gain 3 to 10 % from 1024 cubed on; few rows of
// cold weights, read by long streams then, are 1.5 to 3 times as fast on a Xeon with AMX.
//
// In a part a panel of Y is packed just before it is first multiplied, and what is packed next, of
// X too, is asked for into L2 in the tiles before: packing then takes 1 to 4 % of the time in place
// of 5 to 7 (Zen 5, 1024 cubed, fp32). Squares from 1024 on, in turns: fp32 1.00 to 1.04, fp64 1.02
// to 1.03, bf16 1.00 to 1.01, int8 1.01 to 1.06 times as fast. Copying the rows of X one after the
// other, in place of a chunk of each, gained nothing. Panels of X but the first are packed within
// the tiles of the panels before them, whose multiply-adds leave loads and stores room: fp32 1.007
// to 1.03, bf16 1.01 to 1.025, int8 1.00, fp64 0.99 to 1.01 times as fast. The same of Y's panels:
// fp32 0.99 to 1.01, bf16 1.00 to 1.02 times as fast beyond that, fp64 0.96 to 0.99. X read where
// it lies and Y packed, where X's rows are less than 4 KB apart: 0.97 to 1.02 on Zen 5, by steps
// unrolled, whose loads a core's hardware does not see to be strides, 0.95 to 1.01.
#pragma once

#include <omp.h>

#include "kernels/buffer.hpp"
#include "kernels/matmul/matmul_tile.hpp"
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
  static constexpr std::int64_t kMr = E::kRows, kNr = E::kVectors * E::kLanes;
  static constexpr int kParts = parts_of<E>();
  static constexpr int kXBytes = kParts * sizeof(Xp);  ///< of one value of X in a panel
  /// Panels of Y that the engine packs best at a time; panels that are asked for at a time.
  static constexpr bool kPairs = requires(Yp * to) { E::pack_two(nullptr, 0, to, to); };
  static constexpr std::int64_t kAtOnce = kPairs ? 2 : 1;
  static constexpr std::int64_t kStrip =
      greater(kAtOnce, 4 * kLine / (kNr * std::int64_t{sizeof(Y)}));

  /// Everything that follows from shape, caches and threads.
  struct Layout {
    Shape s;
    std::int64_t panels, columns;  ///< row panels (heights within one of each other), column panels
    std::int64_t kc, k_blocks;     ///< steps of K a block, a multiple of kChunk; how many
    std::int64_t mc, nc;           ///< row panels and column panels a task
    std::int64_t pass;             ///< K blocks packed at a time
    bool y_far;                    ///< Y does not stay in the cores' L2
    std::int64_t x_panel, y_panel;  ///< elements of a panel of one K block
    /// Parts of Z, mc by nc panels, for each of which a thread packs for itself, `x_part` panels of
    /// X at a time. How many parts down and across; 0: the threads share what they pack.
    std::int64_t row_parts = 0, column_parts = 0, x_part = 0;
    bool y_stays = false;  ///< a part's panels of Y stay in L2
    /// A part of all rows packs a panel or two of Y, multiplies with them while L1 has them, and
    /// goes on to the next, which comes to L2 meanwhile. Cold, by 4096 x 4096, four cores of Zen 4
    /// take less time than with a block of K packed at a time and the next one asked for: 16 rows 8
    /// (fp32) to 29 % (bf16), 128 rows 7 to 9; one core, where nothing was asked for, 8 rows 27 to
    /// 39, 32 rows 14 to 22. Where Y stays in the cores' L2, it costs up to 2 %.
    bool in_turns = false;
    /// Weights packed before, and X stays in L2: all blocks of K of a panel of Y, in the order of
    /// memory, for all rows. One core of Zen 4, cold, 22 to 42 rows: 4 to 7 % faster than by parts
    /// of Z; four cores as fast, and 1.2 to 1.4 times as fast while two of them share a core.
    bool streams = false;
    /// One panel of rows on weights packed before: bytes in each of its panels after which lines
    /// are asked for, and whether into L1. A Xeon with AMX, whose memory takes 400 ns, gains 37 %
    /// (fp32) to 75 % (bf16) at M = 8, cold, by 4 KB; one core of Zen 4 by 6 KB 5 to 16 % over 4
    /// KB, and at M = 1, with four panels side by side, by 1 KB 20 % over 2 KB; four cores at M = 2
    /// by 1 KB 2 to 12 % over 6, at M = 8 12 to 33 % less; by 4 KB into L1, over 6 KB into L2, one
    /// at M = 3 and 4 1.12 to 1.24 times as fast, two 1.03 to 1.20, at M = 2, over 1 KB, 0.94
    /// to 1.13, at 5 0.97 to 1.08, at 6 to 12 0.8 to 0.99. One core of Zen 5 gains by 8 KB into L1,
    /// over 4 KB into L2, 1.07 to 1.27 times at M = 2 to 12, two 0.93 to 1.06 where memory gives
    /// them 50 GB/s and 1.09 to 1.27 at M = 12; by 4 KB one 1.02 to 1.12, by 12 KB 1.03 to 1.29,
    /// without 0.72 to 0.86. At M = 1 it follows a panel best by itself, 0.97 to 1.17 times as fast
    /// as with 8 KB into L2, where those into L1 are 0.98 to 1.08 (of bytes 0.97 to 1.1 and 1.0 to
    /// 1.07); with the first lines of each next page 0.8 to 1.05 of that.
    std::int64_t far = 0;
    bool into_l1 = false;
    /// Panels of Y at a time where X is one row. Streams in several pages at once keep more of DRAM
    /// busy: one core of Zen 3 reads a third more in four than in one. On Zen 4, whose hardware
    /// finds them itself, two are up to 10 % (four cores, bf16 and int8) faster than four, of fp32
    /// on one core 4 % slower; one is as fast as two. Zen 5 is 3 to 12 % faster with one than with
    /// four, two are between.
    std::int64_t side = 1;
    /// In how many streams, side by side, a panel is asked for that comes while rows stream past
    /// another one. A core's hardware follows each within its page: with four a Xeon with AMX takes
    /// less time, cold, by 4096 x 4096, one core and two: 16 rows 1.16 to 1.22 and 1.21 to 1.24
    /// times as fast (fp32; int8 by VNNI 1.18 to 1.21 and 1.18 to 1.27), 32 rows 1.10 to 1.13 and
    /// 1.13 to 1.16 (1.11 to 1.14 and 1.13 to 1.16), 48 rows 1.03 and 1.04; with eight, of
    /// pages, 1.0 to 1.04 of that at 16 and 0.95 at 32. Where rows do not stream, 0.94 to 1.0.
    /// Shorter panels, of 32 or 64 KB, 0.98 to 1.05; one panel of 2 to 12 rows that way 0.9 to 1.0.
    std::int64_t ask_streams = 1;

    /// Whether a part's panels of Y are multiplied again, with its next panels of X. Else they are
    /// packed to one place, which stays in L1 and leaves L2 to the rest: 1 to 1.6 % for 256 cubed
    /// on Zen 5.
    bool y_waits() const { return x_part < mc; }

    /// Blocks of K of about equal size, none of which is longer than `most` steps.
    void cut(std::int64_t most) {
      k_blocks = blocks_of(s.k, most);
      kc = round_up(blocks_of(s.k, k_blocks), E::kChunk);
      k_blocks = blocks_of(s.k, kc);
      x_panel = E::kHeader + kMr * kParts * kc;
      y_panel = kNr * kc;
    }

    /// Panels packed before the call: all K blocks of a panel's columns, then the next panel's.
    std::int64_t column() const { return k_blocks * y_panel; }
    std::int64_t held(std::int64_t block, std::int64_t p) const {
      return p * column() + block * y_panel;
    }

    std::int64_t row(std::int64_t panel) const { return panel * s.m / panels; }
    std::int64_t depth(std::int64_t block) const { return lesser(kc, s.k - block * kc); }
  };

  static Layout layout(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const Caches& c = plan.caches;
    const std::int64_t l1 = c.l1d > 0 ? c.l1d : 32 << 10, l2 = c.l2 > 0 ? c.l2 : 512 << 10,
                       l3 = c.l3 > 0 ? lesser(c.l3, kSureL3PerL2 * l2 * c.cores) : l2 * c.cores;
    Layout l{.s = s};
    l.panels = blocks_of(s.m, kMr);
    l.y_far = s.k * s.n * std::int64_t{sizeof(Yp)} > l2 * plan.threads;
    l.columns = blocks_of(s.n, kNr);
    // Panels are read in order, so that coming from L2 costs little, and a longer one spreads the
    // loads and stores of Z.
    const std::int64_t step_bytes = greater(kNr * std::int64_t{sizeof(Yp)}, kMr * kXBytes);
    l.cut(greater(E::kChunk, greater(long_panel(l1, l2), greater(l1, l2 / 32)) / step_bytes));
    const std::int64_t x_bytes = l.x_panel * std::int64_t{sizeof(Xp)},
                       y_bytes = l.y_panel * std::int64_t{sizeof(Yp)};
    // Two fifths of L2; of a large one less, as each tile's rows of Z are a page apart in large
    // matrices, and share few of its sets: 400 KB against 800 KB of 2 MB are 2 to 6 % faster.
    const std::int64_t mc_most = greater(1, lesser(l2 * 2 / 5, 400 << 10) / x_bytes);
    const std::int64_t row_blocks = blocks_of(l.panels, mc_most);
    l.mc = blocks_of(l.panels, row_blocks);
    // Tasks: several a thread.
    const std::int64_t tasks = plan.threads > 1 ? 8 * plan.threads : 1;
    l.nc = lesser(l.columns, greater(1, l.columns * row_blocks / tasks));
    l.nc = blocks_of(l.columns, blocks_of(l.columns, l.nc));
    // What is packed at a time stays in half of L3.
    const std::int64_t block_bytes = l.panels * x_bytes + (prepacked ? 0 : l.columns * y_bytes);
    l.pass = lesser(l.k_blocks, greater(1, l3 / 2 / block_bytes));
    const auto by_reading = [&](std::int64_t streams, std::int64_t into_l2, std::int64_t in_order) {
      const Reading reading = reading_of(c);
      return reading == Reading::streams   ? streams
             : reading == Reading::into_l2 ? into_l2
                                           : in_order;
    };
    if (s.m == 1) l.side = by_reading(4, 2, 1);
    const std::int64_t rows = s.m * kParts, into_l2 = rows <= 2 ? 1024 : rows <= 4 ? 4096 : 6144;
    l.far = s.m == 1 ? by_reading(2048, 1024, sizeof(Yp) == 1 ? 8192 : 0)
                     : by_reading(4096, into_l2, 8192);
    l.into_l1 = by_reading(false, rows == 3 || rows == 4, true);
    // Rows stream through weights that were packed before.
    l.streams =
        prepacked && l.y_far && (l.panels == 1 || l.panels * x_bytes * l.k_blocks <= l2 * 3 / 4);
    if (l.streams) {
      l.ask_streams = by_reading(4, 1, 1);
      l.pass = l.k_blocks;
    } else {
      part(plan.threads, l1, l2, l3, mc_most, prepacked, l);
    }
    return l;
  }

  /// Bytes that a panel of Y may have beyond L1. A tile's rows of Z lie pages apart where N is a
  /// power of two, and an L1 of 32 KB holds eight lines of a set: a tile of 256 steps then reaches
  /// 0.945 of the peak, of 512 0.97. On Zen 4 64 KB are, against 32, 1.01 to 1.065 times as fast
  /// for squares in fp32, fp64 and bf16, 1.0 to 1.025 in int8, 0.98 to 1.03 for few rows; 128 or
  /// 256 KB no faster, plain on four cores 2 % slower. Zen 5 (48 KB) gains 1 to 2 % by 64 KB, and
  /// by 128 KB 1 to 2 % more in fp32 and bf16 of 1024 and more; fp64, whose panels of X then have
  /// 112 KB, loses 1 to 4 %.
  static std::int64_t long_panel(std::int64_t l1, std::int64_t l2) {
    constexpr std::int64_t kXPanel = 64 << 10;
    const std::int64_t beside_x = kXPanel / (kMr * kXBytes) * kNr * std::int64_t{sizeof(Yp)},
                       most = l1 > 32 << 10 ? lesser(128 << 10, beside_x) : 64 << 10;
    return greater(32 << 10, lesser(most, l1 > 32 << 10 ? l2 / 8 : l2 / 16));
  }

  /// Parts of Z, as square as may be, as a byte of Y takes longer to pack than one of X, whose
  /// panels stay in L2 (cut by rows alone, two cores of Zen 5 take 1.02 to 1.16 times as long at
  /// 256 and 512 cubed): one a thread if a block of K of a part's Y stays in L2 beside X, else as
  /// many as it takes for L3 to hold such blocks, with as much of X at a time as L2 holds; of few
  /// rows, which one thread packs for all its columns soon enough, any number, if a short block of
  /// X and Y together stay in L2. A panel of Y takes up to two thirds of L1, or what long_panel()
  /// says: on Zen 4 21 KB, and so more passes over Z, cost four cores 3 to 12 % against 32 KB.
  ///
  /// Zen 5, one core and two. Short blocks of K for a square that would not stay otherwise: 512
  /// cubed 0.97 times as fast in bf16, 0.96 to 0.97 in fp32; for 512 rows 0.91 to 0.98, 768 rows
  /// 0.94. Several parts a thread against panels shared by all, 512 to 2048 rows of 14336 and
  /// 28672 columns: plain 1.03 to 1.10 times as fast, packed before 1.04 to 1.10; for a quarter or
  /// an eighth of L3 0.985 to 1.03.
  static void part(std::int64_t threads, std::int64_t l1, std::int64_t l2, std::int64_t l3,
                   std::int64_t mc_most, bool prepacked, Layout& l) {
    constexpr std::int64_t kLeast = 160 * E::kGroup, kFewPanels = 16, kWide = 512;
    const std::int64_t room = l2 * 3 / 4;
    const std::int64_t near =
        greater(l1 * 2 / 3, long_panel(l1, l2)) / (kNr * std::int64_t{sizeof(Yp)});
    const std::int64_t kc = lesser(l.kc, greater(kLeast, near));
    std::int64_t step = 0, least = 0;  // bytes a step of K: of a part, of all
    // Parts that stay in L2 with blocks of `depth` steps; with none, however large their X is.
    const auto try_parts = [&](std::int64_t down, std::int64_t across, std::int64_t depth) {
      if (down > l.panels || across > l.columns) return;
      const std::int64_t mc = blocks_of(l.panels, down), nc = blocks_of(l.columns, across);
      const std::int64_t x_bytes = mc * kMr * kXBytes,
                         y_bytes = nc * kNr * std::int64_t{sizeof(Yp)}, bytes = x_bytes + y_bytes;
      if (depth > 0 ? bytes * depth > room : y_bytes * kc * threads > l3 / 2) return;
      const std::int64_t all = (2 * x_bytes + 3 * y_bytes) * down * across;
      if (least > 0 && all >= least) return;
      least = all;
      step = bytes;
      l.row_parts = down, l.column_parts = across;
      l.mc = mc, l.nc = nc, l.pass = 1;
    };
    const auto try_each_thread = [&](std::int64_t parts, std::int64_t depth) {
      for (std::int64_t down = 1; down <= threads; ++down)
        if (threads % down == 0) try_parts(down, parts * threads / down, depth);
    };
    try_each_thread(1, kc);
    const std::int64_t x_step = l.panels * kMr * kXBytes;
    const std::int64_t fit = (room / kLeast - x_step) / (kNr * std::int64_t{sizeof(Yp)});
    const std::int64_t narrow = fit > 0 ? round_up(blocks_of(l.columns, fit), threads) : 0;
    if (fit > 0 && 2 * narrow * l.s.m <= l.s.n) try_parts(1, narrow, kLeast);
    // Where each panel of Y is used up as it is packed or comes from memory, X alone is to stay in
    // L2, and blocks of K may be deeper: 256 rows of cold weights, two cores of Zen 5, bf16 1.03
    // to 1.06 times as fast, int8 1.02 to 1.05, fp32 1.01 to 1.07, 300 and 384 rows 1.01 to 1.03;
    // of 128 rows, which leave packing more of the time, 0.91 to 0.99. Packed before, 128 and 256
    // rows of bf16, fp32 and fp64 1.03 to 1.08, int8 1.0 to 1.06, 64 rows 0.99 to 1.13. Not timed
    // elsewhere.
    const std::int64_t deep = l2 * 2 / 3 / x_step;
    if (l.y_far && l.row_parts == 1 && (prepacked || l.panels >= kFewPanels) && 2 * deep >= l.kc) {
      l.column_parts = lesser(threads, l.columns);
      l.nc = blocks_of(l.columns, l.column_parts);
      l.y_stays = true;
      l.cut(lesser(l.kc, deep));
      l.x_part = l.mc = l.panels;
      return;
    }
    l.y_stays = l.row_parts > 0;
    for (std::int64_t parts = 1; l.row_parts == 0; ++parts) {
      if (parts > 1 && parts * threads * kWide > l.s.n) return;
      try_each_thread(parts, 0);
    }
    // Of nine panels and ten, one thread waits for the other; lower panels cost less than that.
    if (l.mc < kFewPanels) {
      l.panels = round_up(l.panels, l.row_parts);
      l.mc = l.panels / l.row_parts;
    }
    const std::int64_t fits = l.y_stays ? lesser(kc, room / step) : kc;
    l.in_turns = !prepacked && l.y_far && l.row_parts == 1 && l.mc <= mc_most;
    const std::int64_t near_l1 = (l.panels <= 3 ? 96 : 192) * E::kGroup;
    l.cut(l.in_turns ? lesser(fits, near_l1) : fits);
    l.x_part = l.y_stays ? l.mc : blocks_of(l.mc, blocks_of(l.mc, mc_most));
  }

  static std::int64_t x_bytes(const Layout& l) {
    return round_up(l.pass * l.panels * l.x_panel * std::int64_t{sizeof(Xp)}, 4096);
  }
  static std::int64_t y_bytes(const Layout& l) {
    return l.pass * l.columns * l.y_panel * std::int64_t{sizeof(Yp)};
  }

  static std::int64_t part_x_bytes(const Layout& l) {
    return round_up(l.x_part * l.x_panel * std::int64_t{sizeof(Xp)}, 4096);
  }

  static std::int64_t part_y_bytes(const Layout& l) {
    const std::int64_t panels = l.in_turns ? kAtOnce : l.y_waits() ? l.nc : 2 * kAtOnce;
    return round_up(panels * l.y_panel * std::int64_t{sizeof(Yp)}, 4096);
  }

  static std::int64_t part_z_bytes(const Layout& l) {
    return l.in_turns ? round_up(l.s.m * l.nc * kNr * std::int64_t{sizeof(Z)}, 4096) : 0;
  }

  static std::int64_t workspace_bytes(const Plan& plan) {
    const Layout l = layout(plan, false), pre = layout(plan, true);
    const std::int64_t parts = plan.threads * (part_x_bytes(l) + part_y_bytes(l) + part_z_bytes(l));
    const std::int64_t bytes = l.row_parts > 0 ? parts : x_bytes(l) + y_bytes(l);
    const std::int64_t stream_bytes =
        plan.threads * (stream_sums_bytes(pre) + std::int64_t{sizeof(Share)});
    return greater(
        bytes, pre.row_parts > 0 ? plan.threads * part_x_bytes(pre) : x_bytes(pre) + stream_bytes);
  }

  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Layout l = layout(plan, prepacked);
    const Tile registers = {kMr, kNr, l.kc};
    // Both panels of a tile together do not stay in L1, so each tile fetches both again.
    const std::int64_t panels =
        l.x_panel * std::int64_t{sizeof(Xp)} + l.y_panel * std::int64_t{sizeof(Yp)};
    const bool stays = panels <= plan.caches.l1d || l.in_turns;
    // Panels of X, over one of Y.
    const std::int64_t passing = l.streams ? l.panels : l.row_parts > 0 ? l.x_part : l.mc;
    const bool sums_stay = l.in_turns && part_z_bytes(l) <= plan.caches.l2 / 2;
    return {.l1 = registers,
            .l2 = stays ? Tile{passing * kMr, kNr, l.kc} : registers,
            .l3 = {passing * kMr, l.nc * kNr, sums_stay ? l.s.k : l.pass * l.kc},
            .x_packed = kXBytes,
            .y_packed = sizeof(Yp),
            .x_packs = greater(1, l.column_parts),
            .y_packs = greater(1, l.row_parts),
            .x_stays = l.row_parts > 0,
            .y_stays = l.y_stays || l.in_turns,
            .y_in_l1 = l.in_turns,
            .z_moved = l.in_turns || (l.streams && l.panels > 1),
            .y_prepacked = prepacked};
  }

  /// Packs `rows` rows of x, `depth` steps deep, stride ldx.
  static void pack_x(const X* x, std::int64_t ldx, std::int64_t rows, std::int64_t depth,
                     Xp* out) noexcept {
    Xp* const header = out;
    out += E::kHeader;
    if constexpr (kParts > 1)
      for (std::int64_t r = 0; r < rows; ++r) E::open_row(header, r, x + r * ldx, depth);
    const auto pack_chunk = [&](const X* from, std::int64_t r) {
      if constexpr (kParts > 1)
        E::pack_x(from, out, header, r);
      else
        E::pack_x(from, out);
      out += kParts * E::kChunk;
    };
    std::int64_t k = 0;
    for (; k + E::kChunk <= depth; k += E::kChunk)
      for (std::int64_t r = 0; r < rows; ++r) pack_chunk(x + r * ldx + k, r);
    if (k < depth)
      for (std::int64_t r = 0; r < rows; ++r) {
        X edge[E::kChunk] = {};
        for (std::int64_t i = k; i < depth; ++i) edge[i - k] = x[r * ldx + i];
        pack_chunk(edge, r);
      }
    pack_header(rows, depth, header);
  }

  static void pack_header(std::int64_t rows, std::int64_t depth, Xp* panel) noexcept {
    if constexpr (E::kHeader > 0)
      for (std::int64_t r = 0; r < rows * kParts; ++r)
        E::pack_header(panel, r, panel + E::kHeader + r * E::kChunk, blocks_of(depth, E::kChunk),
                       rows * kParts * E::kChunk);
  }

  /// Panels of X, each packed in the tile of the one before it, while the first panel of Y is
  /// multiplied.
  class NextX {
   public:
    NextX() = default;
    /// Panels [begin, end) of a block of K, of which the first is packed here.
    NextX(const Layout& l, const X* x, std::int64_t block, std::int64_t begin, std::int64_t end,
          Xp* panels)
        : l_(&l), x_(x + block * l.kc), depth_(l.depth(block)), end_(end), panels_(panels) {
      const std::int64_t at_once = kParts == 1 && depth_ % E::kChunk == 0 ? begin + 1 : end;
      for (std::int64_t q = begin; q < at_once; ++q)
        pack_x(x_ + l.row(q) * l.s.k, l.s.k, rows(q), depth_, panel(q));
      if (at_once == end) end_ = 0;
    }
    /// What the tile of panel q is to pack.
    Copy<E> behind(std::int64_t q) const {
      if (q + 1 >= end_) return {};
      return {x_ + l_->row(q + 1) * l_->s.k, l_->s.k, panel(q + 1) + E::kHeader, rows(q + 1)};
    }
    /// It has.
    void packed_behind(std::int64_t q) const {
      if (q + 1 < end_) pack_header(rows(q + 1), depth_, panel(q + 1));
    }
    void all_packed() { end_ = 0; }

   private:
    std::int64_t rows(std::int64_t q) const { return l_->row(q + 1) - l_->row(q); }
    Xp* panel(std::int64_t q) const { return panels_ + q * l_->x_panel; }
    const Layout* l_ = nullptr;
    const X* x_ = nullptr;
    std::int64_t depth_ = 0, end_ = 0;
    Xp* panels_ = nullptr;
  };

  /// Packs column panels [begin, end) of `depth` rows of y, stride n, `panel` elements apart. Walks
  /// a few rows of y side by side across all panels, so that DRAM sees long streams.
  static void pack_y(const Layout& l, const Y* y, std::int64_t depth, std::int64_t begin,
                     std::int64_t end, Yp* out, std::int64_t panel, Ahead ahead = {}) noexcept {
    constexpr std::int64_t kRows = 8;
    static_assert(kRows % E::kGroup == 0);
    for (std::int64_t k = 0; k < depth; k += kRows) {
      if (k % E::kChunk == 0) {
        for (std::int64_t row = 0; row < ahead.rows; ++row) ahead.ask_for(row, 0);
        ahead.at += ahead.further;
      }
      const std::int64_t rows = lesser(kRows, depth - k);
      for (std::int64_t p = begin; p < end; ++p) {
        const Y* from = y + k * l.s.n + p * kNr;
        Yp* to = out + (p - begin) * panel + k * kNr;
        if constexpr (kPairs) {
          if (p + 2 <= end && (p + 2) * kNr <= l.s.n && rows == kRows) {
            for (std::int64_t g = 0; g < rows; g += E::kGroup, to += kNr * E::kGroup)
              E::pack_two(from + g * l.s.n, l.s.n, to, to + panel);
            ++p;
            continue;
          }
        }
        const bool whole = (p + 1) * kNr <= l.s.n;
        for (std::int64_t g = 0; g < rows; g += E::kGroup, to += kNr * E::kGroup) {
          if (whole && g + E::kGroup <= rows) {
            E::pack_y(from + g * l.s.n, l.s.n, to);
          } else {
            Y edge[E::kGroup * kNr] = {};
            for (std::int64_t i = 0; i < E::kGroup && g + i < rows; ++i)
              for (std::int64_t j = 0; j < kNr && p * kNr + j < l.s.n; ++j)
                edge[i * kNr + j] = from[(g + i) * l.s.n + j];
            E::pack_y(edge, kNr, to);
          }
        }
      }
    }
  }

  /// A packed panel of Y that comes to L2 while another one is multiplied, dealt out over the tiles
  /// of that, in l.ask_streams streams side by side.
  class NextPanel {
   public:
    /// None if `y` is null.
    NextPanel(const Layout& l, const Yp* y, std::int64_t depth, std::int64_t tiles)
        : at_(reinterpret_cast<const std::byte*>(y)),
          chunks_(greater(1, depth / E::kChunk)),
          streams_(l.ask_streams),
          apart_(blocks_of(l.y_panel * std::int64_t{sizeof(Yp)}, streams_ * kLine) * kLine),
          lines_(y != nullptr ? apart_ / kLine : 0),
          lines_a_chunk_(blocks_of(lines_, chunks_ * tiles)) {}

    Ahead piece() {
      if (lines_ <= 0) return {};
      const std::byte* const at = at_;
      at_ += lines_a_chunk_ * chunks_ * kLine;
      lines_ -= lines_a_chunk_ * chunks_;
      if (streams_ == 1) return {.at = at, .rows = lines_a_chunk_};
      return {.at = at,
              .rows = streams_,
              .apart = apart_,
              .lines = lines_a_chunk_,
              .further = lines_a_chunk_ * kLine};
    }

   private:
    const std::byte* at_;
    std::int64_t chunks_, streams_, apart_, lines_, lines_a_chunk_;  ///< lines: of a stream
  };

  struct Nothing {
    static Ahead piece() { return {}; }
  };

  /// The row panels [row_begin, row_end) of one K block of X on panel p of Y.
  template <class Next, class Beside>
  static void multiply_panel(const Layout& l, std::int64_t block, const Xp* x, const Yp* y,
                             std::int64_t row_begin, std::int64_t row_end, std::int64_t p,
                             const float* scales, Z* z, Next& next, Beside& beside,
                             NextX& next_x) noexcept {
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
                      const float* scales, Z* z, Beside& beside, NextX next_x) noexcept {
    // In L2 and read once, lines come without: asking costs up to 13 %.
    const bool near = !l.y_far && row_end - row_begin == 1;
    for (std::int64_t p = column_begin; p < column_end; ++p, y += panel) {
      const Yp* const after = p + 1 < column_end ? y + panel : next;
      NextPanel ahead(l, near ? nullptr : after, l.depth(block), row_end - row_begin);
      multiply_panel(l, block, x, y, row_begin, row_end, p, scales, z, ahead, beside, next_x);
    }
  }

  /// Rows of one panel and weights packed before: all K blocks of `count` panels side by side from
  /// p on, so that each is read once and in order, and lines are asked for `l.far` bytes on.
  static void few_rows(const Layout& l, const Xp* x, const Yp* held, std::int64_t p,
                       std::int64_t count, const float* scales, Z* z) noexcept {
    const std::int64_t column = p * kNr, width = lesser(kNr, l.s.n - column);
    const auto tile_of = count == 4   ? tile<E, 1, 4>
                         : count == 2 ? tile<E, 1, 2>
                                      : pick_tile<E, E::kRows, true>(l.s.m);
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const Yp* y = held + l.held(block, p);
      const Ahead ahead{
          .at = reinterpret_cast<const std::byte*>(y) + l.far,
          .rows = l.y_far && l.far > 0 ? E::kChunk * kNr * std::int64_t{sizeof(Yp)} / kLine : 0,
          .into_l1 = l.into_l1};
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
      NextPanel next(l, y + l.y_panel, l.depth(block), l.panels);
      for (std::int64_t q = 0; q < l.panels; ++q)
        pick_tile<E, E::kRows, true>(l.row(q + 1) - l.row(q))(
            blocks_of(l.depth(block), E::kGroup), x + q * l.x_panel, y, 0, sums + l.row(q) * kNr,
            kNr, kNr, block > 0, nullptr, next.piece(), {}, {});
    }
    move_sums(l, sums, p, scales, z);
  }

  static std::int64_t stream_sums_bytes(const Layout& l) {
    return l.panels > 1 ? round_up(l.s.m * kNr * std::int64_t{sizeof(Z)}, 4096) : 0;
  }

  static void multiply_streams(const Plan& plan, const Layout& l, const X* x, const Yp* held,
                               const float* scales, Z* z) {
    std::byte* const space = static_cast<std::byte*>(plan.workspace);
    Xp* const x_panels = reinterpret_cast<Xp*>(space);
    std::byte* const sums = space + x_bytes(l);
    Share* const shares = reinterpret_cast<Share*>(sums + plan.threads * stream_sums_bytes(l));
    const std::int64_t whole = l.s.n / kNr / l.side;
    const std::int64_t all = whole + l.columns - whole * l.side, own = blocks_of(all, plan.threads);
    clear(shares, plan.threads);
#pragma omp parallel num_threads(plan.threads)
    {
#pragma omp for
      for (std::int64_t i = 0; i < l.k_blocks * l.panels; ++i) {
        const std::int64_t block = i / l.panels, q = i % l.panels;
        pack_x(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q), l.depth(block),
               x_panels + i * l.x_panel);
      }
      const int thread = omp_get_thread_num();
      Z* const own_sums = reinterpret_cast<Z*>(sums + thread * stream_sums_bytes(l));
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
        part_x_bytes(l) + (prepacked == nullptr ? part_y_bytes(l) + part_z_bytes(l) : 0);
    const std::int64_t parts = l.row_parts * l.column_parts;
#pragma omp parallel num_threads(plan.threads)
    {
      std::byte* const own =
          static_cast<std::byte*>(plan.workspace) + omp_get_thread_num() * own_bytes;
      Xp* const x_panels = reinterpret_cast<Xp*>(own);
      Yp* const y_panels = reinterpret_cast<Yp*>(own + part_x_bytes(l));
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
        NextRows rows = a_end < q_end
                            ? NextRows(l, x, block, a_end, lesser(a_end + l.x_part, q_end), chunks)
                            : NextRows(l, x, block + 1, q, lesser(q + l.x_part, q_end), chunks);
        Xp* const from = x_panels - a * l.x_panel;
        const NextX next_x(l, x, block, a, a_end, from);
        if (a == q && prepacked == nullptr)
          pack_and_multiply(l, block, from, y + block * l.kc * l.s.n, a, a_end, p, p_end, scales, z,
                            rows, y_panels, next_x);
        else
          compute(l, block, from, panels, prepacked == nullptr ? l.y_panel : l.column(), nullptr, a,
                  a_end, p, p_end, scales, z, rows, next_x);
      }
    }
  }

  /// The rows of X that are packed next come to L2, one in each tile of `chunks` chunks before.
  class NextRows {
   public:
    /// Of panels [begin, end); none behind the last block.
    NextRows(const Layout& l, const X* x, std::int64_t block, std::int64_t begin, std::int64_t end,
             std::int64_t chunks)
        : at_(reinterpret_cast<const std::byte*>(x + l.row(begin) * l.s.k + block * l.kc)),
          apart_(l.s.k * std::int64_t{sizeof(X)}),
          rows_(block < l.k_blocks ? l.row(end) - l.row(begin) : 0),
          lines_a_chunk_(
              blocks_of(blocks_of(l.depth(block) * std::int64_t{sizeof(X)}, kLine), chunks)) {}

    Ahead piece() {
      if (rows_ <= 0) return {};
      const std::byte* const at = at_;
      at_ += apart_;
      --rows_;
      return {.at = at, .rows = lines_a_chunk_};
    }

   private:
    const std::byte* at_;
    std::int64_t apart_, rows_, lines_a_chunk_;
  };

  /// compute() of rows of Y that are packed to `y_panels` on the way, each panel or two between the
  /// tiles of those before.
  static void pack_and_multiply(const Layout& l, std::int64_t block, const Xp* x, const Y* y,
                                std::int64_t row_begin, std::int64_t row_end, std::int64_t begin,
                                std::int64_t end, const float* scales, Z* z, NextRows& rows,
                                Yp* y_panels, NextX next_x) noexcept {
    const std::int64_t depth = l.depth(block), apart = kAtOnce * l.y_panel;
    Yp *now = y_panels, *after = y_panels + apart;
    pack_y(l, y, depth, begin, lesser(begin + kAtOnce, end), now, l.y_panel);
    for (std::int64_t p = begin; p < end; p += kAtOnce) {
      const std::int64_t p_end = lesser(p + kAtOnce, end);
      NextPacked next(l, y, depth, p_end, lesser(p_end + kAtOnce, end), after,
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

  /// Rows of Y that come to L2 while a strip of kStrip panels is packed and multiplied: those of
  /// the next strip, dealt out over the `pieces` of that work.
  class NextStrip {
   public:
    /// `panels` panels of `depth` rows from y on; none if that is null.
    NextStrip(const Layout& l, const Y* y, std::int64_t depth, std::int64_t panels,
              std::int64_t pieces)
        : at_(reinterpret_cast<const std::byte*>(y)),
          apart_(l.s.n * std::int64_t{sizeof(Y)}),
          chunks_(greater(1, depth / E::kChunk)),
          rows_(y != nullptr ? depth : 0),
          rows_a_chunk_(blocks_of(depth, pieces * chunks_)),
          lines_(blocks_of(panels * kNr * std::int64_t{sizeof(Y)}, kLine)) {}

    Ahead piece() {
      if (rows_ <= 0) return {};
      const std::byte* const at = at_;
      at_ += rows_a_chunk_ * chunks_ * apart_;
      rows_ -= rows_a_chunk_ * chunks_;
      asked_ += rows_a_chunk_ * chunks_;
      return {.at = at, .rows = rows_a_chunk_, .apart = apart_, .lines = lines_};
    }
    std::int64_t asked() const { return asked_; }  ///< rows, with those behind the last

   private:
    const std::byte* at_;
    std::int64_t apart_, chunks_, rows_, rows_a_chunk_, lines_, asked_ = 0;
  };

  /// Panels of Y that are packed between the tiles of those before: after each tile, the rows that
  /// were asked for before it. Rows of Y may be a power of two apart and share few sets of L2: of a
  /// whole panel's, asked for at once, most are gone when they are packed. 256 rows of cold
  /// weights, one core of Zen 5 and two: fp32 1.03 to 1.09 times as fast so, bf16 1.02 to 1.03,
  /// int8 1.03 to 1.06; squares 1.00 to 1.01; parts in turns 0.98 to 1.0.
  class NextPacked {
   public:
    /// Panels [begin, end) of `depth` rows, none if begin is end, packed to `to` in `pieces`.
    NextPacked(const Layout& l, const Y* y, std::int64_t depth, std::int64_t begin,
               std::int64_t end, Yp* to, std::int64_t pieces)
        : strip_(l, begin < end ? y + begin * kNr : nullptr, depth, end - begin, pieces),
          l_(l),
          y_(y),
          depth_(begin < end ? depth : 0),
          begin_(begin),
          end_(end),
          to_(to) {}

    Ahead piece() {
      near_ = strip_.asked();
      return strip_.piece();
    }
    void pack() { pack_to(lesser(near_ / E::kChunk * E::kChunk, depth_)); }
    void pack_all() { pack_to(depth_); }

   private:
    void pack_to(std::int64_t row) {
      if (row <= packed_) return;
      pack_y(l_, y_ + packed_ * l_.s.n, row - packed_, begin_, end_, to_ + packed_ * kNr,
             l_.y_panel);
      packed_ = row;
    }

    NextStrip strip_;
    const Layout& l_;
    const Y* y_;
    std::int64_t depth_, begin_, end_;
    Yp* to_;
    std::int64_t near_ = 0, packed_ = 0;
  };

  /// What follows the strip that begins at panel `strip` of a block: the one beside it or, behind
  /// the last, the first of the next block.
  static NextStrip next_strip(const Layout& l, const Y* y, std::int64_t block, std::int64_t strip,
                              std::int64_t begin, std::int64_t end) {
    const bool beside = strip + kStrip < end;
    const std::int64_t p = beside ? strip + kStrip : begin;
    block += beside ? 0 : 1;
    const Y* const from = block < l.k_blocks ? y + block * l.kc * l.s.n + p * kNr : nullptr;
    return {l, from, l.depth(block), lesser(kStrip, end - p), kStrip / kAtOnce + kStrip * l.panels};
  }

  /// The part of panels [begin, end), all rows. Its sums lie together until they are complete: rows
  /// of Z may be a power of two apart and share few sets of L1, which costs 3 to 9 % from 32 rows
  /// on.
  static void multiply_in_turns(const Layout& l, const X* x, const Y* y, std::int64_t begin,
                                std::int64_t end, const float* scales, Z* z, Xp* x_panels) {
    std::byte* const space = reinterpret_cast<std::byte*>(x_panels) + part_x_bytes(l);
    Yp* const y_panels = reinterpret_cast<Yp*>(space);
    Z* const sums = reinterpret_cast<Z*>(space + part_y_bytes(l));
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const std::int64_t depth = l.depth(block), groups = blocks_of(depth, E::kGroup);
      for (std::int64_t q = 0; q < l.panels; ++q)
        pack_x(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q), depth,
               x_panels + q * l.x_panel);
      for (std::int64_t strip = begin; strip < end; strip += kStrip) {
        NextStrip next = next_strip(l, y, block, strip, begin, end);
        const std::int64_t strip_end = lesser(strip + kStrip, end);
        for (std::int64_t p = strip; p < strip_end; p += kAtOnce) {
          const std::int64_t p_end = lesser(p + kAtOnce, strip_end);
          pack_y(l, y + block * l.kc * l.s.n, depth, p, p_end, y_panels, l.y_panel, next.piece());
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
    Yp* y_panels = reinterpret_cast<Yp*>(static_cast<std::byte*>(plan.workspace) + x_bytes(l));
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
          pack_x(x + l.row(q) * l.s.k + block * l.kc, l.s.k, l.row(q + 1) - l.row(q),
                 l.depth(block), x_panels + i * l.x_panel);
        }
        if (prepacked == nullptr) {
#pragma omp for schedule(dynamic, 1) nowait
          for (std::int64_t i = 0; i < (last - first) * column_tasks; ++i) {
            const std::int64_t block = first + i / column_tasks, p = i % column_tasks * l.nc;
            pack_y(l, y + block * l.kc * l.s.n, l.depth(block), p, lesser(p + l.nc, l.columns),
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
    multiply(plan, layout(plan, false), x, y, nullptr, scales, z);
  }

  static std::int64_t packed_bytes(const Plan& plan) {
    const Layout l = layout(plan, true);
    return l.k_blocks * l.columns * l.y_panel * std::int64_t{sizeof(Yp)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Layout l = layout(plan, true);
    const std::int64_t column_tasks = blocks_of(l.columns, l.nc);
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
    for (std::int64_t i = 0; i < l.k_blocks * column_tasks; ++i) {
      const std::int64_t block = i / column_tasks, p = i % column_tasks * l.nc;
      pack_y(l, y + block * l.kc * l.s.n, l.depth(block), p, lesser(p + l.nc, l.columns),
             static_cast<Yp*>(packed) + l.held(block, p), l.column());
    }
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float* scales,
                         Z* z) {
    multiply(plan, layout(plan, true), x, nullptr, static_cast<const Yp*>(packed), scales, z);
  }

  static constexpr Routine<X, Y, Z> routine() {
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
