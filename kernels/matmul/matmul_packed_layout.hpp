// How the packed matmul (matmul_packed.hpp) cuts a product up: everything that follows from shape,
// caches and threads.
#pragma once

#include "kernels/matmul/matmul_tile.hpp"
#include "kernels/shares.hpp"

namespace kernels::matmul {
namespace {

/// Of a product by engine E (matmul_engine.hpp). Sizes are in elements unless they say bytes.
template <class E>
struct PackedLayout {
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

  Shape s;
  std::int64_t panels = 0;                ///< of rows, heights within one of each other
  std::int64_t columns = 0;               ///< panels of columns
  std::int64_t kc = 0, k_blocks = 0;      ///< steps of K a block, a multiple of kChunk; how many
  std::int64_t mc = 0, nc = 0;            ///< row panels and column panels a task
  std::int64_t pass = 0;                  ///< K blocks packed at a time
  bool y_far = false;                     ///< Y does not stay in the cores' L2
  std::int64_t x_panel = 0, y_panel = 0;  ///< elements of a panel of one K block
  /// Parts of Z, mc by nc panels, for each of which a thread packs for itself, `x_part` panels of
  /// X at a time. How many parts down and across; 0: the threads share what they pack.
  std::int64_t row_parts = 0, column_parts = 0, x_part = 0;
  bool y_stays = false;  ///< a part's panels of Y stay in L2
  /// A part of all rows packs a panel or two of Y, multiplies with them while L1 has them, and goes
  /// on to the next, which comes to L2 meanwhile. Four cores of Zen 4, cold, 16 rows of bf16: 29 %
  /// less time. NOTES.md, "Panels in turns".
  bool in_turns = false;
  /// Weights packed before, and X stays in L2: all blocks of K of a panel of Y, in the order of
  /// memory, for all rows. One core of Zen 4, cold, 22 to 42 rows: 4 to 7 % faster than by parts of
  /// Z. NOTES.md, "Rows that stream past weights".
  bool streams = false;
  /// One panel of rows on weights packed before: bytes in each of its panels after which lines are
  /// asked for, and whether into L1; 0 where a core reads far enough ahead by itself. NOTES.md,
  /// "How far ahead in a panel".
  std::int64_t far = 0;
  bool into_l1 = false;
  /// Bytes after which what came into L2 is asked for once more, into L1; 0: not. M = 8, Emerald
  /// Rapids, fp32: 1.09 times as fast. NOTES.md, "Into L2, then into L1".
  std::int64_t again = 0;
  /// Panels of Y at a time where X is one row. Streams in several pages at once keep more of DRAM
  /// busy where hardware does not find them itself: one core of Zen 3 reads a third more in four
  /// than in one. NOTES.md, "Panels side by side".
  std::int64_t side = 1;
  /// In how many streams, side by side, a panel is asked for that comes while rows stream past
  /// another one: hardware follows each within its page. A core of a Xeon with AMX, cold, 16 rows
  /// of fp32: four are 1.16 to 1.22 times as fast. NOTES.md, "Streams of the next panel".
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

  /// Of a plan's product, Y packed before the call or within it.
  static PackedLayout of(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const Caches& c = plan.caches;
    const std::int64_t l1 = c.l1d > 0 ? c.l1d : 32 << 10, l2 = c.l2 > 0 ? c.l2 : 512 << 10,
                       l3 = c.l3 > 0 ? lesser(c.l3, kSureL3PerL2 * l2 * c.cores) : l2 * c.cores;
    PackedLayout l;
    l.s = s;
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
    constexpr std::int64_t kProducts = E::kVectors * kParts,
                           kLines = kNr * E::kGroup * std::int64_t{sizeof(Yp)} / kLine;
    constexpr bool kOneALine = kProducts <= kLines;
    const std::int64_t rows = s.m * kParts, three_or_four = kOneALine ? 0 : 4096,
                       into_l2 = rows <= 2   ? 1024
                                 : rows <= 4 ? three_or_four
                                             : 6144;
    l.far = s.m == 1 ? by_reading(2048, 1024, kOneALine ? 0 : 8192)
                     : by_reading(6144, into_l2, rows < 8 ? 8192 : 10240);
    l.into_l1 = by_reading(false, rows == 3 || rows == 4, true);
    l.again = by_reading(s.m == 1 ? 1024 : 2048, 0, 0);
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

  /// Packed X and Y that threads share, of a pass.
  std::int64_t x_bytes() const {
    return round_up(pass * panels * x_panel * std::int64_t{sizeof(Xp)}, 4096);
  }
  std::int64_t y_bytes() const { return pass * columns * y_panel * std::int64_t{sizeof(Yp)}; }

  /// A thread's own, where Z is cut into parts: of X, of Y, and sums that are not in Z yet.
  std::int64_t part_x_bytes() const {
    return round_up(x_part * x_panel * std::int64_t{sizeof(Xp)}, 4096);
  }

  std::int64_t part_y_bytes() const {
    const std::int64_t panels = in_turns ? kAtOnce : y_waits() ? nc : 2 * kAtOnce;
    return round_up(panels * y_panel * std::int64_t{sizeof(Yp)}, 4096);
  }

  std::int64_t part_z_bytes() const {
    return in_turns ? round_up(s.m * nc * kNr * std::int64_t{sizeof(Z)}, 4096) : 0;
  }

  /// A thread's sums of a panel of Y that rows stream past.
  std::int64_t stream_sums_bytes() const {
    return panels > 1 ? round_up(s.m * kNr * std::int64_t{sizeof(Z)}, 4096) : 0;
  }

  /// Enough for the product either way.
  static std::int64_t workspace_bytes(const Plan& plan) {
    const PackedLayout l = of(plan, false), pre = of(plan, true);
    const std::int64_t parts =
        plan.threads * (l.part_x_bytes() + l.part_y_bytes() + l.part_z_bytes());
    const std::int64_t bytes = l.row_parts > 0 ? parts : l.x_bytes() + l.y_bytes();
    const std::int64_t stream_bytes =
        plan.threads * (pre.stream_sums_bytes() + std::int64_t{sizeof(Share)});
    return greater(bytes, pre.row_parts > 0 ? plan.threads * pre.part_x_bytes()
                                            : pre.x_bytes() + stream_bytes);
  }

  /// For the model of bytes.
  static Tiles tiles(const Plan& plan, bool prepacked) {
    const PackedLayout l = of(plan, prepacked);
    const Tile registers = {kMr, kNr, l.kc};
    // Both panels of a tile together do not stay in L1, so each tile fetches both again.
    const std::int64_t panels =
        l.x_panel * std::int64_t{sizeof(Xp)} + l.y_panel * std::int64_t{sizeof(Yp)};
    const bool stays = panels <= plan.caches.l1d || l.in_turns;
    // Panels of X, over one of Y.
    const std::int64_t passing = l.streams ? l.panels : l.row_parts > 0 ? l.x_part : l.mc;
    const bool sums_stay = l.in_turns && l.part_z_bytes() <= plan.caches.l2 / 2;
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

 private:
  /// Bytes that a panel of Y may have beyond L1. Rows of Z may lie pages apart and share sets of
  /// L1, and longer panels pass over Z less often: with an L1 of 32 KB a tile of 256 steps reaches
  /// 0.945 of the peak, of 512 0.97. NOTES.md, "Length of a panel of Y".
  static std::int64_t long_panel(std::int64_t l1, std::int64_t l2) {
    constexpr std::int64_t kXPanel = 64 << 10;
    const std::int64_t beside_x = kXPanel / (kMr * kXBytes) * kNr * std::int64_t{sizeof(Yp)},
                       most = l1 > 32 << 10 ? lesser(128 << 10, beside_x) : 64 << 10;
    return greater(32 << 10, lesser(most, l1 > 32 << 10 ? l2 / 8 : l2 / 16));
  }

  /// Parts of Z, as square as may be, as a byte of Y takes longer to pack than one of X, whose
  /// panels stay in L2: one a thread if a block of K of a part's Y stays in L2 beside X, else as
  /// many as it takes for L3 to hold such blocks, with as much of X at a time as L2 holds; of few
  /// rows, which one thread packs for all its columns soon enough, any number, if a short block of
  /// X and Y together stay in L2. A panel of Y takes up to two thirds of L1, or what long_panel()
  /// says. NOTES.md, "Parts of Z".
  static void part(std::int64_t threads, std::int64_t l1, std::int64_t l2, std::int64_t l3,
                   std::int64_t mc_most, bool prepacked, PackedLayout& l) {
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
    // L2, and blocks of K may be deeper: 256 rows of cold bf16 weights on two cores of Zen 5 1.03
    // to 1.06 times as fast. NOTES.md, "Deeper blocks of K".
    const std::int64_t deep = l2 * 2 / 3 / x_step;
    if (l.y_far && l.row_parts == 1 && (prepacked || l.panels >= kFewPanels) && 2 * deep >= l.kc) {
      l.column_parts = threads;
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
};

}  // namespace
}  // namespace kernels::matmul
