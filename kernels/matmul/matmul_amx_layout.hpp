// How the matmul on AMX tiles (matmul_amx.hpp) cuts a product up: everything that follows from
// shape, caches and threads. A panel is 32 columns by kDepth steps of K.
#pragma once

#include "kernels/matmul/matmul_amx_engines.hpp"

namespace kernels::matmul {
namespace {

/// Bytes between what threads own.
constexpr std::int64_t kGap = 1 << 16;
/// Rows up to which weights packed before are one stream past all of X; and how many steps of it
/// stay in L1 for two blocks of 32 rows, twice as many for more. NOTES.md, "AMX: a piece of the
/// stream".
constexpr int kFewRows = 128, kPiece = 4;

template <class E>
struct TiledLayout {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Panel = typename E::Yp;
  using Held = typename E::Held;
  static constexpr std::int64_t kStep = Amx::kRowBytes / sizeof(X);  ///< of K
  static constexpr std::int64_t kStepElements = kStepBytes / sizeof(Panel);
  static constexpr std::int64_t kPanel = kDepth * kStepElements;
  static constexpr std::int64_t kSums = kFewRows * kSide;  ///< of few rows and a panel

  Shape s;
  std::int64_t columns, depths;  ///< panels across and down Y
  std::int64_t all_steps;        ///< of K
  std::int64_t row_tasks, column_tasks;
  std::int64_t rows, nc;    ///< at a time, sums in L2: rows, whole blocks, and panels
  std::int64_t own_panels;  ///< of a thread: packed, or one for widening
  bool aligned;             ///< rows of X begin with a line
  bool packs_x;             ///< once, for all tasks
  /// Weights packed before that half of the L3 to count on does not hold: they, and X of the next
  /// depth, are asked for in Streams. 256 and 512 rows of bf16, cold, one core: 1.10 to 1.18 times
  /// as fast. NOTES.md, "AMX: weights beyond L3".
  bool far;
  std::int64_t few_rows, few_pass;  ///< of few rows: in a step of X; steps, whole panels, whose X
                                    ///< L2 holds

  std::int64_t row(std::int64_t task) const {
    return lesser(s.m, task * round_up(blocks_of(s.m, row_tasks), kSide));
  }
  /// Whether a task takes a panel for one block of rows after the other.
  bool again() const { return row(1) > rows; }
  std::int64_t column(std::int64_t task) const { return task * columns / column_tasks; }
  std::int64_t steps(std::int64_t depth) const {
    return lesser(kDepth, all_steps - depth * kDepth);
  }
  /// Of few rows: steps of K that a block of them takes at a time.
  std::int64_t piece() const {
    return few_rows <= kSide ? few_pass : few_rows <= 2 * kSide ? kPiece : 2 * kPiece;
  }
  /// Where a panel that was packed before begins. As it is read: what a pass over few rows takes
  /// of K for 32 columns, then the next 32; after the last of them the next pass.
  std::int64_t held(std::int64_t column, std::int64_t depth) const {
    const std::int64_t step = depth * kDepth, first = step / few_pass * few_pass;
    const std::int64_t steps = lesser(few_pass, all_steps - first);
    return (first * columns + column * steps + step - first) * kStepElements;
  }

  static TiledLayout of(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 2 << 20;
    TiledLayout l{.s = s};
    l.columns = blocks_of(s.n, kSide);
    l.all_steps = blocks_of(s.k, kStep);
    l.depths = blocks_of(l.all_steps, kDepth);
    // An eighth of L2 for what a panel's depth takes of X, three sixteenths for sums.
    const std::int64_t most = greater(1, l2 / 8 / (kDepth * Amx::kRowBytes) / kSide) * kSide;
    const std::int64_t blocks = blocks_of(s.m, most);
    l.rows = round_up(blocks_of(s.m, blocks), kSide);
    const std::int64_t nc_most =
        greater(1, lesser(l2 / 4 / (kDepth * kStepBytes),
                          l2 * 3 / 16 / (l.rows * kSide * std::int64_t{sizeof(Z)})));
    // Threads share rows out, so that each finds its own of X and Z in its L2. Plain weights would
    // be packed by each: if they are packed for several blocks of rows, threads share columns out.
    const std::int64_t across = blocks_of(l.columns, nc_most);
    if (prepacked || blocks <= plan.threads) {
      l.row_tasks = lesser(plan.threads, blocks);
      l.column_tasks = lesser(l.columns, greater(across, blocks_of(plan.threads, l.row_tasks)));
    } else {
      l.column_tasks = lesser(l.columns, round_up(across, plan.threads));
      l.row_tasks = lesser(blocks, blocks_of(plan.threads, l.column_tasks));
    }
    l.nc = blocks_of(l.columns, l.column_tasks);
    l.own_panels = prepacked ? 1 : l.nc * (l.again() ? l.depths : 1);
    const std::int64_t row_bytes = s.k * std::int64_t{sizeof(X)};
    l.aligned = row_bytes % 64 == 0;
    // Lines that hold parts of two steps take tiles twice as long, and rows a multiple of 4 KB
    // apart share few sets of the caches. Below 256 columns packing costs more.
    l.packs_x =
        (!prepacked || s.m > kFewRows) && s.n >= 8 * kSide && (!l.aligned || row_bytes % 4096 == 0);
    l.far = prepacked && s.k * s.n * std::int64_t{sizeof(Held)} >= kSureL3PerL2 * l2 / 2;
    l.few_rows = s.m <= kSide ? s.m : round_up(s.m, kHalf);
    // Half of L2 for X: the weights pass through the other.
    const std::int64_t passes = blocks_of(l.few_rows * l.all_steps * Amx::kRowBytes, l2 / 2);
    const std::int64_t few_pass = round_up(blocks_of(l.all_steps, passes), kDepth);
    l.few_pass = s.m > kFewRows ? l.all_steps : few_pass;
    return l;
  }

  /// Of a thread's panels, of its sums between two depths, and of a gap: what the hardware asks for
  /// beyond them is to leave the next thread's alone (512 cubed on two cores: 133 to 127 us).
  std::int64_t own_bytes() const {
    const std::int64_t sums = depths > 1 ? nc * rows * kSide * std::int64_t{sizeof(Z)} : 0;
    return own_panels * kPanel * std::int64_t{sizeof(Panel)} + sums + kGap;
  }
  /// Of few rows: a thread's own X of a pass. Packing it together took 4 to 7 % of the time at K =
  /// 14336, most of it stores to what other cores had read.
  std::int64_t x_bytes() const {
    return s.m > kFewRows ? 0 : round_up(few_pass * few_rows * Amx::kRowBytes, 4096);
  }
  /// Of more rows: all of X, a block of rows after the other at each depth, if it is packed.
  std::int64_t all_x_bytes() const {
    return packs_x ? piece_place(0, depths) * std::int64_t{sizeof(X)} : 0;
  }
  /// Where a block of rows at this depth begins there, elements.
  std::int64_t piece_place(std::int64_t row, std::int64_t depth) const {
    return (depth * blocks_of(s.m, kSide) + row / kSide) * kDepth * kSide * kStep;
  }
  /// Sums between two passes over few rows.
  std::int64_t sums_bytes() const {
    return few_pass >= all_steps ? 0 : columns * kSums * std::int64_t{sizeof(Z)};
  }
  std::int64_t workspace_bytes(int threads) const {
    return sums_bytes() + all_x_bytes() + threads * (x_bytes() + own_bytes());
  }
  /// Where row r of X lies in a step, elements: pieces, in each the blocks of 32 rows, in each the
  /// steps, in each its rows 64 bytes apart, so that a panel takes X from first to last.
  std::int64_t x_place(std::int64_t step, std::int64_t r) const {
    const std::int64_t at = step / piece() * piece(), row = r / kSide * kSide;
    const std::int64_t steps = lesser(piece(), all_steps - at);
    return (at * few_rows + row * steps + r - row) * kStep + (step - at) * x_step(r);
  }
  /// From there to the next step of a piece.
  std::int64_t x_step(std::int64_t r) const {
    return lesser(kSide, few_rows - r / kSide * kSide) * kStep;
  }

  static std::int64_t workspace_bytes(const Plan& plan) {
    return greater(of(plan, false).workspace_bytes(plan.threads),
                   of(plan, true).workspace_bytes(plan.threads));
  }
  static Tiles tiles(const Plan& plan, bool prepacked) {
    const TiledLayout l = of(plan, prepacked);
    if (prepacked && l.s.m <= kFewRows) {
      const std::int64_t depth = l.few_pass * kStep;
      return {.l1 = {kSide, kSide, l.piece() * kStep},
              .l2 = {kFewRows, kSide, depth},
              .l3 = {kFewRows, blocks_of(l.columns, plan.threads) * kSide, depth},
              .x_packed = sizeof(X),
              .y_packed = sizeof(Held),
              .x_packs = plan.threads,
              .x_stays = true,
              .y_stays = true,
              .y_prepacked = true};
    }
    return {.l1 = {kSide, kSide, kDepth * kStep},
            .l2 = {l.rows, kSide, kDepth * kStep},
            .l3 = {l.rows, l.nc * kSide, l.s.k},
            .x_packed = l.packs_x ? int{sizeof(X)} : 0,
            .y_packed = prepacked ? int{sizeof(Held)} : int{sizeof(Panel)},
            .y_packs = l.row_tasks,
            .y_stays = !l.again(),
            .y_prepacked = prepacked};
  }
};

}  // namespace
}  // namespace kernels::matmul
