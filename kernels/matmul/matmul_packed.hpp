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
// panels. On several threads Z is cut into parts instead, for each of which one thread packs all it
// needs of X and Y, block by block of K: what another core has packed comes slower than from its
// own L2, or than what that has dropped. Four cores of Zen 4 gain 3 to 10 % from 1024 cubed on; few
// rows of cold weights, read by long streams then, are 1.5 to 3 times as fast on a Xeon with AMX.
#pragma once

#include <omp.h>

#include <type_traits>

#include "kernels/buffer.hpp"
#include "kernels/matmul/matmul_engine.hpp"

namespace kernels::matmul {
namespace {

constexpr std::int64_t kLine = 64;

/// Lines of memory that are needed next, fetched while a tile is computed: `lines` for each kChunk
/// steps, those of the next chunk `step` bytes on. Of several panels side by side, those of each.
struct Ahead {
  const std::byte* at;
  std::int64_t lines;
  std::int64_t step = lines * kLine;
};

/// P tiles side by side, each R rows by the engine's nr columns; `groups` groups of K. Panels of Y
/// lie `panel` elements apart; `width` columns of the last one count, all of the others.
/// `accumulate`: adds to Z.
template <class E, int R, int P>
[[gnu::noinline]] void tile(std::int64_t groups, const typename E::Xp* x, const typename E::Yp* y,
                            std::int64_t panel, typename E::Z* z, std::int64_t ldz,
                            std::int64_t width, bool accumulate, const float* scales,
                            Ahead ahead) noexcept {
  using V = typename E::V;
  constexpr int kSteps = E::kChunk / E::kGroup, kNr = E::kVectors * E::kLanes;
  // A low tile has too few sums to hide the latency of a multiply-add: it keeps several of each.
  constexpr int kSums = P * R * E::kVectors, kSets = kSums >= 8 ? 1 : kSums >= 4 ? 2 : 4;
  // A low tile asks for many lines a chunk, of which dozens at once wait for each other: a fourth
  // at a time is 9 to 15 % faster at M = 1, cold, on a Xeon with AMX.
  constexpr int kAsks = R <= 4 ? 4 : 1;
  constexpr int kLineEntries = kLine / sizeof(typename E::Z),
                kZLines = P * kNr > kLineEntries ? P * kNr / kLineEntries : 1;
  int z_row = 0, z_line = 0;
  const auto ask_for_z = [&] {
    if (z_row == R) return;
    __builtin_prefetch(z + z_row * ldz + z_line * kLineEntries, 1);
    if (++z_line == kZLines) z_line = 0, ++z_row;
  };
  V acc[kSets][P][R][E::kVectors];
#pragma GCC unroll 4
  for (int s = 0; s < kSets; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          acc[s][p][r][v] = s == 0 ? E::first(y + p * panel, v) : E::zero();
  y += E::kHeader;
  // Sums and vectors of Y are pinned: left alone, GCC moves the loads of the unrolled steps up
  // until it runs out of registers and spills sums.
  const auto step = [&](int s, const typename E::Xp* xs, const typename E::Yp* ys)
      __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      typename E::W w[E::kVectors];
      E::load_y(ys + p * panel, w);
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v) opaque(w[v]);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const auto b = E::broadcast(xs + r * E::kChunk);
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v) {
          if constexpr (requires { E::accumulate(acc[s][p][r][v], w[v], b); }) {
            E::accumulate(acc[s][p][r][v], w[v], b);
          } else {
            acc[s][p][r][v] = E::step(acc[s][p][r][v], w[v], b);
            opaque(acc[s][p][r][v]);
          }
        }
      }
    }
  };
  for (; groups >= kSteps; groups -= kSteps) {
    ask_for_z();
    ask_for_z();
    std::int64_t line = 0;
#pragma GCC unroll 8
    for (int ask = 0; ask < kAsks; ++ask) {
      for (; line < ahead.lines * (ask + 1) / kAsks; ++line)
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p)
          __builtin_prefetch(
              ahead.at + line * kLine + p * panel * std::int64_t{sizeof(typename E::Yp)}, 0, 2);
#pragma GCC unroll 8
      for (int g = ask * kSteps / kAsks; g < (ask + 1) * kSteps / kAsks; ++g)
        step(g % kSets, x + g * E::kGroup, y + g * kNr * E::kGroup);
    }
    ahead.at += ahead.step;
    x += R * E::kChunk;
    y += kSteps * kNr * E::kGroup;
  }
  for (; groups > 0; --groups, x += E::kGroup, y += kNr * E::kGroup) step(0, x, y);
#pragma GCC unroll 4
  for (int s = 1; s < kSets; ++s)
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          acc[0][p][r][v] = E::add(acc[0][p][r][v], acc[s][p][r][v]);

  if (width == kNr) {
    const auto put = [&](auto added, const float* with) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
          for (int v = 0; v < E::kVectors; ++v)
            E::put(z + r * ldz + p * kNr + v * E::kLanes, acc[0][p][r][v], added(), with,
                   p * kNr + v * E::kLanes);
    };
    if (scales != nullptr)
      accumulate ? put(std::true_type(), scales) : put(std::false_type(), scales);
    else
      accumulate ? put(std::true_type(), nullptr) : put(std::false_type(), nullptr);
  } else if constexpr (P == 1) {
    alignas(64) typename E::Z out[kNr];
    float edge_scales[kNr];
    for (std::int64_t j = 0; scales != nullptr && j < kNr; ++j)
      edge_scales[j] = j < width ? scales[j] : 0.0f;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < E::kVectors; ++v)
        E::put(out + v * E::kLanes, acc[0][0][r][v], false,
               scales != nullptr ? edge_scales : nullptr, v * E::kLanes);
      typename E::Z* to = z + r * ldz;
      for (std::int64_t j = 0; j < width; ++j) to[j] = accumulate ? to[j] + out[j] : out[j];
    }
  }
}

template <class E>
using TileFunction = void (*)(std::int64_t, const typename E::Xp*, const typename E::Yp*,
                              std::int64_t, typename E::Z*, std::int64_t, std::int64_t, bool,
                              const float*, Ahead) noexcept;

template <class E, int R>
constexpr TileFunction<E> pick_tile(std::int64_t rows) {
  if constexpr (R == 1)
    return tile<E, 1, 1>;
  else
    return rows == R ? tile<E, R, 1> : pick_tile<E, R - 1>(rows);
}

/// Panels of Y at a time where X is one panel of one row. Streams in several pages at once keep
/// more of DRAM busy: one core of Zen 3 reads a third more in four than in one.
constexpr int kSideBySide = 4;

template <class E>
struct Packed {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  using Yp = typename E::Yp;
  static constexpr std::int64_t kMr = E::kRows, kNr = E::kVectors * E::kLanes;

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
    /// The next block of Y comes to L2 while the present one is multiplied: where no other part
    /// needs it. Cold, on four cores of Zen 4, 16 rows take 23 to 39 % less time, 32 rows 2 to 27,
    /// 128 rows 3 to 9. Of a Y that caches hold, 2 to 5 % more.
    bool raw_ahead = false;

    /// Blocks of K of about equal size, none of which is longer than `most` steps.
    void cut(std::int64_t most) {
      k_blocks = blocks_of(s.k, most);
      kc = round_up(blocks_of(s.k, k_blocks), E::kChunk);
      k_blocks = blocks_of(s.k, kc);
      x_panel = kMr * kc;
      y_panel = E::kHeader + kNr * kc;
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
    // A panel as large as L1, or a 32nd of L2 where that is more: panels are read in order, so that
    // coming from L2 costs little, and a longer one spreads the loads and stores of Z.
    const std::int64_t step_bytes =
        greater(kNr * std::int64_t{sizeof(Yp)}, kMr * std::int64_t{sizeof(Xp)});
    l.cut(greater(E::kChunk, greater(l1, l2 / 32) / step_bytes));
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
    // One panel of rows streams through weights that were packed before.
    if (!prepacked || l.panels > 1 || !l.y_far) part(plan.threads, l1, l2, l3, mc_most, l);
    return l;
  }

  /// Parts of Z, as square as may be: one a thread if a block of K of a part's Y is of L3's size,
  /// with as much of X at a time as L2 holds; of few rows, which one thread packs for all its
  /// columns soon enough, any number, if a short block of X and Y together stay in L2. A panel of Y
  /// takes up to two thirds of L1 or 32 KB, which is all of it on Zen 4: 21 KB, and so more passes
  /// over Z, cost four cores there 3 to 12 %.
  static void part(std::int64_t threads, std::int64_t l1, std::int64_t l2, std::int64_t l3,
                   std::int64_t mc_most, Layout& l) {
    constexpr std::int64_t kLeast = 160 * E::kGroup, kFewRows = 3, kShort = 96 * E::kGroup,
                           kFewPanels = 16;
    const std::int64_t room = l2 * 3 / 4;
    const std::int64_t near = greater(l1 * 2 / 3, 32 << 10) / (kNr * std::int64_t{sizeof(Yp)});
    const std::int64_t kc = lesser(l.kc, greater(kLeast, near));
    std::int64_t step = 0, least = 0;  // bytes a step of K: of a part, of all
    // Parts that stay in L2 with blocks of `depth` steps; with none, however large their X is.
    const auto try_parts = [&](std::int64_t down, std::int64_t across, std::int64_t depth) {
      if (down > l.panels || across > l.columns) return;
      const std::int64_t mc = blocks_of(l.panels, down), nc = blocks_of(l.columns, across);
      const std::int64_t x_bytes = mc * kMr * std::int64_t{sizeof(Xp)},
                         y_bytes = nc * kNr * std::int64_t{sizeof(Yp)}, bytes = x_bytes + y_bytes;
      if (depth > 0 ? bytes * depth > room : y_bytes * kc * threads > l3 / 2) return;
      const std::int64_t all = bytes * down * across;
      if (least > 0 && all >= least) return;
      least = all;
      step = bytes;
      l.row_parts = down, l.column_parts = across;
      l.mc = mc, l.nc = nc, l.pass = 1;
    };
    const auto try_one_a_thread = [&](std::int64_t depth) {
      for (std::int64_t down = 1; down <= threads && threads > 1; ++down)
        if (threads % down == 0) try_parts(down, threads / down, depth);
    };
    try_one_a_thread(kc);
    const std::int64_t x_step = l.panels * kMr * std::int64_t{sizeof(Xp)};
    const std::int64_t fit = (room / kLeast - x_step) / (kNr * std::int64_t{sizeof(Yp)});
    const std::int64_t narrow = fit > 0 ? round_up(blocks_of(l.columns, fit), threads) : 0;
    if (fit > 0 && l.s.m * narrow <= l.s.n) try_parts(1, narrow, kLeast);
    l.y_stays = l.row_parts > 0;
    if (!l.y_stays) try_one_a_thread(0);
    if (l.row_parts == 0) return;
    // Of nine panels and ten, one thread waits for the other; lower panels cost less than that.
    if (l.mc < kFewPanels) {
      l.panels = round_up(l.panels, l.row_parts);
      l.mc = l.panels / l.row_parts;
    }
    const std::int64_t fits = l.y_stays ? lesser(kc, room / step) : kc;
    l.raw_ahead = l.y_far && l.row_parts == 1 && threads > 1;
    l.cut(l.raw_ahead && l.panels <= kFewRows ? lesser(fits, kShort) : fits);
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
    return round_up(l.nc * l.y_panel * std::int64_t{sizeof(Yp)}, 4096);
  }

  static std::int64_t workspace_bytes(const Plan& plan) {
    const Layout l = layout(plan, false), pre = layout(plan, true);
    const std::int64_t parts = plan.threads * (part_x_bytes(l) + part_y_bytes(l));
    const std::int64_t bytes = l.row_parts > 0 ? parts : x_bytes(l) + y_bytes(l);
    return greater(bytes, pre.row_parts > 0 ? plan.threads * part_x_bytes(pre) : x_bytes(pre));
  }

  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Layout l = layout(plan, prepacked);
    const Tile registers = {kMr, kNr, l.kc};
    // Both panels of a tile together do not stay in L1, so each tile fetches both again.
    const std::int64_t panels =
        l.x_panel * std::int64_t{sizeof(Xp)} + l.y_panel * std::int64_t{sizeof(Yp)};
    const bool stays = panels <= plan.caches.l1d;
    const std::int64_t passing = l.row_parts > 0 ? l.x_part : l.mc;  // panels of X, over one of Y
    return {.l1 = registers,
            .l2 = stays ? Tile{passing * kMr, kNr, l.kc} : registers,
            .l3 = {passing * kMr, l.nc * kNr, l.pass * l.kc},
            .x_packed = sizeof(Xp),
            .y_packed = sizeof(Yp),
            .x_packs = greater(1, l.column_parts),
            .y_packs = greater(1, l.row_parts),
            .x_stays = l.row_parts > 0,
            .y_stays = l.y_stays,
            .y_prepacked = prepacked};
  }

  /// Packs `rows` rows of x, `depth` steps deep, stride ldx.
  static void pack_x(const X* x, std::int64_t ldx, std::int64_t rows, std::int64_t depth,
                     Xp* out) noexcept {
    std::int64_t k = 0;
    for (; k + E::kChunk <= depth; k += E::kChunk)
      for (std::int64_t r = 0; r < rows; ++r, out += E::kChunk) E::pack_x(x + r * ldx + k, out);
    if (k < depth)
      for (std::int64_t r = 0; r < rows; ++r, out += E::kChunk) {
        X edge[E::kChunk] = {};
        for (std::int64_t i = k; i < depth; ++i) edge[i - k] = x[r * ldx + i];
        E::pack_x(edge, out);
      }
  }

  /// Packs column panels [begin, end) of `depth` rows of y, stride n, `panel` elements apart. Walks
  /// a few rows of y side by side across all panels, so that DRAM sees long streams.
  static void pack_y(const Layout& l, const Y* y, std::int64_t depth, std::int64_t begin,
                     std::int64_t end, Yp* out, std::int64_t panel) noexcept {
    constexpr std::int64_t kRows = 8;
    static_assert(kRows % E::kGroup == 0);
    for (std::int64_t p = 0; p < end - begin; ++p)
      for (int i = 0; i < E::kHeader; ++i) out[p * panel + i] = Yp{};
    for (std::int64_t k = 0; k < depth; k += kRows) {
      const std::int64_t rows = lesser(kRows, depth - k);
      for (std::int64_t p = begin; p < end; ++p) {
        const Y* from = y + k * l.s.n + p * kNr;
        Yp* header = out + (p - begin) * panel;
        Yp* to = header + E::kHeader + k * kNr;
        const bool whole = (p + 1) * kNr <= l.s.n;
        for (std::int64_t g = 0; g < rows; g += E::kGroup, to += kNr * E::kGroup) {
          if (whole && g + E::kGroup <= rows) {
            E::pack_y(from + g * l.s.n, l.s.n, header, to);
          } else {
            Y edge[E::kGroup * kNr] = {};
            for (std::int64_t i = 0; i < E::kGroup && g + i < rows; ++i)
              for (std::int64_t j = 0; j < kNr && p * kNr + j < l.s.n; ++j)
                edge[i * kNr + j] = from[(g + i) * l.s.n + j];
            E::pack_y(edge, kNr, header, to);
          }
        }
      }
    }
  }

  /// Deals out the next block of a part's Y, where it lies, over the tiles of the present one, for
  /// L2: a piece of as many rows as a tile has chunks each. Packing does not wait for memory then.
  class RawAhead {
   public:
    RawAhead(const Layout& l, const Y* raw, std::int64_t columns, std::int64_t tiles,
             std::int64_t chunks)
        : at_(reinterpret_cast<const std::byte*>(raw)),
          row_bytes_(l.s.n * std::int64_t{sizeof(Y)}),
          rows_(raw != nullptr ? l.kc : 0),
          chunks_(chunks) {
      const std::int64_t lines = blocks_of(columns * std::int64_t{sizeof(Y)}, kLine);
      pieces_ = greater(1, lines / blocks_of(lines * l.kc, tiles * chunks));
      piece_ = blocks_of(lines, pieces_);
    }
    /// Of tile `i`.
    Ahead of(std::int64_t i) const {
      const std::int64_t row = i / pieces_ * chunks_;
      if (row >= rows_) return {.at = nullptr, .lines = 0};
      return {.at = at_ + row * row_bytes_ + i % pieces_ * piece_ * kLine,
              .lines = piece_,
              .step = row_bytes_};
    }

   private:
    const std::byte* at_;
    std::int64_t row_bytes_, rows_, chunks_, pieces_, piece_;
  };

  /// One K block of one task: `y` are its column panels' packed data, `panel` elements apart.
  /// `next` is where the next block's data for these columns begin, null at the last block; `raw`,
  /// where they begin in Y, if they are yet to be packed.
  static void compute(const Layout& l, std::int64_t block, const Xp* x, const Yp* y,
                      std::int64_t panel, const Yp* next, const Y* raw, std::int64_t row_begin,
                      std::int64_t row_end, std::int64_t column_begin, std::int64_t column_end,
                      const float* scales, Z* z) noexcept {
    const std::int64_t groups = blocks_of(l.depth(block), E::kGroup);
    const std::int64_t chunks = greater(1, l.depth(block) / E::kChunk);
    const std::int64_t lines = blocks_of(l.y_panel * std::int64_t{sizeof(Yp)}, kLine);
    // In L2 and read once, lines come without: asking costs up to 13 %.
    const bool near = !l.y_far && row_end - row_begin == 1;
    const std::int64_t at_once = near ? 0 : blocks_of(lines, chunks * (row_end - row_begin));
    const RawAhead raw_ahead(l, raw, lesser(column_end * kNr, l.s.n) - column_begin * kNr,
                             (column_end - column_begin) * (row_end - row_begin), chunks);
    std::int64_t tiles_done = 0;
    for (std::int64_t p = column_begin; p < column_end; ++p, y += panel) {
      const std::int64_t column = p * kNr, width = lesser(kNr, l.s.n - column);
      const Yp* const after = p + 1 < column_end ? y + panel : next;
      Ahead now{.at = reinterpret_cast<const std::byte*>(after),
                .lines = after != nullptr ? at_once : 0};
      for (std::int64_t q = row_begin; q < row_end; ++q) {
        const std::int64_t row = l.row(q);
        pick_tile<E, E::kRows>(l.row(q + 1) - row)(
            groups, x + q * l.x_panel, y, 0, z + row * l.s.n + column, l.s.n, width, block > 0,
            scales != nullptr ? scales + column : nullptr,
            raw != nullptr ? raw_ahead.of(tiles_done++) : now);
        now.at += now.lines * chunks * kLine;
        if ((q + 1 - row_begin) * now.lines * chunks >= lines) now.lines = 0;
      }
    }
  }

  /// Rows of one panel and weights packed before: all K blocks of `count` panels side by side from
  /// p on, so that each is read once and in order. Lines are asked for 4 KB on, or 2 KB in each of
  /// several panels: what the hardware foresees does not cover 400 ns. At M = 8, cold, 37 % (fp32)
  /// to 75 % (bf16) are gained on a Xeon with AMX.
  static void few_rows(const Layout& l, const Xp* x, const Yp* held, std::int64_t p,
                       std::int64_t count, const float* scales, Z* z) noexcept {
    const std::int64_t far = 4096 / lesser(count, 2), column = p * kNr,
                       width = lesser(kNr, l.s.n - column);
    const auto tile_of = count > 1 ? tile<E, 1, kSideBySide> : pick_tile<E, E::kRows>(l.s.m);
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      const Yp* y = held + l.held(block, p);
      const Ahead ahead{.at = reinterpret_cast<const std::byte*>(y) + far,
                        .lines = l.y_far ? E::kChunk * kNr * std::int64_t{sizeof(Yp)} / kLine : 0};
      tile_of(blocks_of(l.depth(block), E::kGroup), x + block * l.x_panel, y, l.column(),
              z + column, l.s.n, width, block > 0, scales != nullptr ? scales + column : nullptr,
              ahead);
    }
  }

  static void multiply_few(const Plan& plan, const Layout& l, const X* x, const Yp* held,
                           const float* scales, Z* z) {
    Xp* x_panels = static_cast<Xp*>(plan.workspace);
    const std::int64_t side = l.s.m == 1 ? kSideBySide : 1, whole = l.s.n / kNr / side;
#pragma omp parallel num_threads(plan.threads)
    {
#pragma omp for
      for (std::int64_t block = 0; block < l.k_blocks; ++block)
        pack_x(x + block * l.kc, l.s.k, l.s.m, l.depth(block), x_panels + block * l.x_panel);
#pragma omp for schedule(guided)
      for (std::int64_t i = 0; i < whole + l.columns - whole * side; ++i)
        if (i < whole)
          few_rows(l, x_panels, held, i * side, side, scales, z);
        else
          few_rows(l, x_panels, held, whole * side + i - whole, 1, scales, z);
    }
  }

  static void multiply_parts(const Plan& plan, const Layout& l, const X* x, const Y* y,
                             const Yp* prepacked, const float* scales, Z* z) {
    const std::int64_t own_bytes = part_x_bytes(l) + (prepacked == nullptr ? part_y_bytes(l) : 0);
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
    for (std::int64_t block = 0; block < l.k_blocks; ++block) {
      if (prepacked == nullptr)
        pack_y(l, y + block * l.kc * l.s.n, l.depth(block), p, p_end, y_panels, l.y_panel);
      const Y* const raw = l.raw_ahead && prepacked == nullptr && block + 1 < l.k_blocks
                               ? y + (block + 1) * l.kc * l.s.n + p * kNr
                               : nullptr;
      for (std::int64_t a = q; a < q_end; a += l.x_part) {
        const std::int64_t a_end = lesser(a + l.x_part, q_end);
        for (std::int64_t b = a; b < a_end; ++b)
          pack_x(x + l.row(b) * l.s.k + block * l.kc, l.s.k, l.row(b + 1) - l.row(b),
                 l.depth(block), x_panels + (b - a) * l.x_panel);
        compute(l, block, x_panels - a * l.x_panel,
                prepacked == nullptr ? y_panels : prepacked + l.held(block, p),
                prepacked == nullptr ? l.y_panel : l.column(), nullptr, a == q ? raw : nullptr, a,
                a_end, p, p_end, scales, z);
      }
    }
  }

  static void multiply(const Plan& plan, const Layout& l, const X* x, const Y* y,
                       const Yp* prepacked, const float* scales, Z* z) {
    if (l.row_parts > 0) return multiply_parts(plan, l, x, y, prepacked, scales, z);
    if (prepacked != nullptr && l.panels == 1 && l.pass == l.k_blocks)
      return multiply_few(plan, l, x, prepacked, scales, z);
    Xp* x_panels = static_cast<Xp*>(plan.workspace);
    Yp* y_panels = reinterpret_cast<Yp*>(static_cast<std::byte*>(plan.workspace) + x_bytes(l));
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
                    block + 1 < last ? panels + further : nullptr, nullptr, q, q_end, p, p_end,
                    scales, z);
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
