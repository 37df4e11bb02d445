// Matmul on AMX tiles, written once over an engine: see matmul_amx_tiled.cpp.
#pragma once

#include <omp.h>

#include <cstddef>
#include <cstring>

#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/simd/ahead.hpp"
#include "kernels/simd/amx.hpp"
#include "kernels/simd/silu.hpp"

namespace kernels::matmul {
namespace {

constexpr int kSide = 32, kHalf = Amx::kRows;    ///< columns of a panel and most rows; of a tile
constexpr int kGroupBytes = 2 * Amx::kRowBytes;  ///< what one sum takes of K, for all columns
constexpr int kStepBytes = kHalf * kGroupBytes;  ///< 64 bytes of K, for all columns
constexpr int kStepLines = kStepBytes / 64;
constexpr int kDepth = 16;  ///< steps of a panel: 32 KB, to stay in L1
/// Bytes by which lines of weights that are read once are asked for, and empty instructions behind
/// each: 8 to 12 KB and 12 to 16 of them are alike. In turns in one process at M = 1 to 32, bf16: 6
/// KB and four 1 to 6 % slower, 4 KB 3 to 6 %, 24 of them 3 to 10 %. K in two halves side by side:
/// no gain.
constexpr int kAhead = 10240, kPauseAhead = 12;
/// The same where more than 32 rows leave DRAM idle at times: four pages side by side, for each of
/// which the hardware fetches ahead by itself, from the page after the one at hand on. One page at
/// a time: 38 in place of 46 GB/s at M = 64; two, six, or 16 KB ahead: 4 to 8 % less.
constexpr int kPages = 4, kPageBytes = 4096, kPagesAhead = (kPages + 1) * kPageBytes;
/// Groups of rows by which packing asks ahead, 8 to 32 are alike; bytes between what threads own.
constexpr std::int64_t kGroupsAhead = 16, kGap = 1 << 16;
/// Rows up to which weights packed before are one stream past all of X; and how many steps of it
/// stay in L1 for two blocks of 32 rows, twice as many for more: 2, 8 and 16 were slower at M = 64,
/// 4 at M = 128.
constexpr int kFewRows = 128, kPiece = 4;

/// Rows of `sums`, kSide apart, times scales where given, to Z.
template <class Z>
void put_rows(const Z* sums, Z* z, std::int64_t ldz, std::int64_t rows, std::int64_t width,
              const float* scales) {
  for (std::int64_t r = 0; r < rows; ++r, sums += kSide, z += ldz)
    for (std::int64_t j = 0; j < width; ++j) {
      Z sum = sums[j];
      if constexpr (std::is_same_v<Z, float>) sum *= scales != nullptr ? scales[j] : 1.0f;
      z[j] = sum;
    }
}

/// One row of `width` numbers to Z. Whole lines go past the caches: a core that stores to what
/// another core has read waits for it. M = 64, cold, 41 to 48 GB/s; asking for the lines of Z
/// beside the last steps: 43.
template <class Z>
void put_row(const Z* row, Z* z, std::int64_t width) {
  constexpr int kLine = 64 / sizeof(Z);
  if (width != kSide || reinterpret_cast<std::uintptr_t>(z) % 64 != 0)
    return put_rows(row, z, 0, 1, width, nullptr);
  for (int j = 0; j < kSide; j += kLine)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(z + j), _mm512_loadu_si512(row + j));
}

/// silu(gates) * up of kSide columns, a line past the caches like those of put_row().
inline void put_gated(const float* gates, const float* up, bf16* out) {
  static_assert(kSide == kGated);
  alignas(64) bf16 row[kSide];
  silu_times(gates, up, kSide, row);
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out), _mm512_load_si512(row));
}

template <class YT>
struct Bf16Tiles : Bf16Engine<YT> {
  using Held = YT;  ///< element of weights packed before
  static void product_04() { _tile_dpbf16ps(0, 6, 4); }
  static void product_15() { _tile_dpbf16ps(1, 6, 5); }
  static void product_24() { _tile_dpbf16ps(2, 7, 4); }
  static void product_35() { _tile_dpbf16ps(3, 7, 5); }
};

/// Weights packed before stay bytes, two rows of 32 a group, and are widened as they are used.
struct Bf16Int8Tiles : Bf16Tiles<std::int8_t> {
  static void hold(const Y* y, std::int64_t ldy, Held* out) {
    std::memcpy(out, y, kSide);
    std::memcpy(out + kSide, y + ldy, kSide);
  }
  /// One step. Whole numbers up to 128 have the same upper half in fp32 and nothing in the lower.
  static void widen(const Held* held, Yp* out) {
    const auto floats = [](const Held* p) { return _mm512_castps_si512(Avx512::F32::load(p)); };
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const auto pair = [&](__m512i low, __m512i high) {
      return _mm512_ternarylogic_epi32(_mm512_srli_epi32(low, 16), high, upper, 0xf8);
    };
#pragma GCC unroll 4
    for (int g = 0; g < kHalf; ++g, held += 2 * kSide) {
      __builtin_prefetch(held + kAhead, 0, 2);
      for (int half = 0; half < kSide; half += kHalf, out += 2 * kHalf)
        _mm512_storeu_si512(out, pair(floats(held + half), floats(held + kSide + half)));
    }
  }
};

struct Int8Unsigned : Int8Vnni<std::uint8_t> {
  using Held = Y;
  static void product_04() { _tile_dpbusd(0, 6, 4); }
  static void product_15() { _tile_dpbusd(1, 6, 5); }
  static void product_24() { _tile_dpbusd(2, 7, 4); }
  static void product_35() { _tile_dpbusd(3, 7, 5); }
};

/// Signed times signed as it is, so that a panel of Y needs no header.
struct Int8Signed : Int8Vnni<std::uint8_t> {
  using X = std::int8_t;
  using Held = Y;
  static void product_04() { _tile_dpbssd(0, 6, 4); }
  static void product_15() { _tile_dpbssd(1, 6, 5); }
  static void product_24() { _tile_dpbssd(2, 7, 4); }
  static void product_35() { _tile_dpbssd(3, 7, 5); }
};

/// Steps of Y where they lie, one after the other. Like every source of steps it is told four times
/// a step to ask for what comes later, if it does.
struct InPlace {
  const std::byte* at;

  const std::byte* next() {
    at += kStepBytes;
    return at - kStepBytes;
  }
  void ask() {}
};

/// Asks for `quarter` lines each time, from `ahead` on, with kPause empty instructions a line:
/// faster, they fill what L1 has for misses, and tiles that L2 holds wait: cold M = 1 51 GB/s
/// without, 60 with four; together before a step 2 to 4 % slower.
template <int kPause>
struct Paced : InPlace {
  const std::byte* ahead;
  std::int64_t quarter;

  void ask() {
    for (std::int64_t i = 0; i < quarter; ++i, ahead += 64) ask_for<kPause>(ahead);
  }
};

/// Asks for a panel in four streams side by side, `apart` bytes from one to the next and `lines`
/// lines a step of each, as the hardware follows each, and for x_lines lines of X.
struct Streams : InPlace {
  const std::byte *ahead, *x;
  std::int64_t apart, lines, x_lines;
  int stream = 0;

  void ask() {
    for (std::int64_t i = 0; i < lines; ++i)
      __builtin_prefetch(ahead + stream * apart + i * 64, 0, 2);
    if (++stream < 4) return;
    stream = 0;
    ahead += lines * 64;
    for (std::int64_t i = 0; i < x_lines; ++i, x += 64) __builtin_prefetch(x, 0, 2);
  }
};

/// Asks for a line in each of kPages pages, `share` times a step.
struct Paged : InPlace {
  static constexpr int kAsks = kStepLines / kPages;  ///< a step's, of all blocks of rows
  const std::byte* ahead;
  std::int64_t done, share, due = 0;

  /// For a block of rows out of `blocks` that takes `steps` steps `from + skip` on; it asks after
  /// the blocks before.
  Paged(const std::byte* from, std::int64_t skip, std::int64_t steps, std::int64_t block,
        std::int64_t blocks)
      : InPlace{from + skip * kStepBytes} {
    constexpr std::int64_t kLines = kPageBytes / 64;
    const std::int64_t before = kAsks * block / blocks;
    done = skip * kAsks + steps * before;
    share = kAsks * (block + 1) / blocks - before;
    ahead = from + kPagesAhead + done / kLines * kPages * kPageBytes + done % kLines * 64;
  }
  void ask() {
    for (due += share; due >= 4; due -= 4) {
      for (int page = 0; page < kPages; ++page) __builtin_prefetch(ahead + page * kPageBytes, 0, 2);
      ahead += ++done % (kPageBytes / 64) == 0 ? (kPages - 1) * kPageBytes + 64 : 64;
    }
  }
};

/// Steps of Y that are widened two steps before they are needed, beside the products of others, so
/// that main memory never waits. `space` has room for `places` steps, a power of two.
template <class E>
struct Widened {
  using Held = typename E::Held;
  using Panel = typename E::Yp;
  static constexpr std::int64_t kStep = kStepBytes / sizeof(Panel);  ///< elements
  const Held* held;
  Panel* space;
  std::int64_t places, left;  ///< `left` steps are to be widened
  std::int64_t made = 0, used = 0;

  Widened(const Held* from, Panel* to, std::int64_t room, std::int64_t steps)
      : held(from), space(to), places(room), left(steps) {
    make();
    make();
  }
  void make() {
    if (left == 0) return;
    E::widen(held, space + made % places * kStep);
    held += kStep;
    ++made, --left;
  }
  const std::byte* next() {
    make();
    Amx::memory_fence();
    return reinterpret_cast<const std::byte*>(space + used++ % places * kStep);
  }
  void ask() {}  ///< widening does
};

template <class E>
struct Tiled {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Panel = typename E::Yp;
  using Held = typename E::Held;
  static constexpr std::int64_t kStep = Amx::kRowBytes / sizeof(X);  ///< of K
  static constexpr std::int64_t kStepElements = kStepBytes / sizeof(Panel);
  static constexpr std::int64_t kPanel = kDepth * kStepElements;
  static constexpr std::int64_t kSums = kFewRows * kSide;  ///< of few rows and a panel
  static constexpr bool kWidens = !std::is_same_v<Panel, Held>;

  /// What follows from shape, caches and threads. A panel is 32 columns by kDepth steps of K.
  struct Layout {
    Shape s;
    std::int64_t columns, depths;  ///< panels across and down Y
    std::int64_t all_steps;        ///< of K
    std::int64_t row_tasks, column_tasks;
    std::int64_t rows, nc;    ///< at a time, sums in L2: rows, whole blocks, and panels
    std::int64_t own_panels;  ///< of a thread: packed, or one for widening
    bool aligned;             ///< rows of X begin with a line
    bool packs_x;             ///< once, for all tasks
    /// Weights packed before that half of L3 does not hold: they, and X of the next depth, are
    /// asked for in Streams. Cold, 256 and 512 rows by 4096 x 14336 either way, one core and two:
    /// bf16 1.10 to 1.18 and 1.10 to 1.15 times as fast, int8 1.02 to 1.12 and 0.99 to 1.10, bf16 x
    /// int8 0.97 to 1.05; 2048 rows 1.00 to 1.05. In L3 0.93 to 1.0.
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
  };

  static Layout layout(const Plan& plan, bool prepacked) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 2 << 20;
    Layout l{.s = s};
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
  static std::int64_t own_bytes(const Layout& l) {
    const std::int64_t sums = l.depths > 1 ? l.nc * l.rows * kSide * std::int64_t{sizeof(Z)} : 0;
    return l.own_panels * kPanel * std::int64_t{sizeof(Panel)} + sums + kGap;
  }
  /// Of few rows: a thread's own X of a pass. Packing it together took 4 to 7 % of the time at K =
  /// 14336, most of it stores to what other cores had read.
  static std::int64_t x_bytes(const Layout& l) {
    return l.s.m > kFewRows ? 0 : round_up(l.few_pass * l.few_rows * Amx::kRowBytes, 4096);
  }
  /// Of more rows: all of X, a block of rows after the other at each depth, if it is packed.
  static std::int64_t all_x_bytes(const Layout& l) {
    return l.packs_x ? piece_place(l, 0, l.depths) * std::int64_t{sizeof(X)} : 0;
  }
  /// Where a block of rows at this depth begins there, elements.
  static std::int64_t piece_place(const Layout& l, std::int64_t row, std::int64_t depth) {
    return (depth * blocks_of(l.s.m, kSide) + row / kSide) * kDepth * kSide * kStep;
  }
  /// Sums between two passes over few rows.
  static std::int64_t sums_bytes(const Layout& l) {
    return l.few_pass >= l.all_steps ? 0 : l.columns * kSums * std::int64_t{sizeof(Z)};
  }
  static std::int64_t workspace_bytes(const Layout& l, int threads) {
    return sums_bytes(l) + all_x_bytes(l) + threads * (x_bytes(l) + own_bytes(l));
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return greater(workspace_bytes(layout(plan, false), plan.threads),
                   workspace_bytes(layout(plan, true), plan.threads));
  }
  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Layout l = layout(plan, prepacked);
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

  /// Packs kGroup rows of panel p from row k on by `one(y, ldy, out)`.
  template <class Out, class One>
  static void pack_group(const Layout& l, const Y* y, std::int64_t p, std::int64_t k, Out* out,
                         One one) {
    const std::int64_t column = p * kSide, width = lesser(kSide, l.s.n - column);
    const Y* from = y + k * l.s.n + column;
    if (width == kSide && k + E::kGroup <= l.s.k) return one(from, l.s.n, out);
    Y edge[E::kGroup * kSide] = {};
    for (std::int64_t i = 0; i < E::kGroup && k + i < l.s.k; ++i)
      for (std::int64_t j = 0; j < width; ++j) edge[i * kSide + j] = from[i * l.s.n + j];
    one(edge, kSide, out);
  }
  /// Panels [p, p_end) at a depth by `one` to places kPanel apart, row by row, as memory gives a
  /// row's columns side by side faster than 64 bytes of each row (cold M = 32, two cores: 7.0
  /// to 10.1 GB/s), and with rows ahead asked for, from main memory (to 13.7). Asking for them
  /// beside the products instead, a depth ahead: 11.7; rows a power of two apart share few sets of
  /// L2.
  template <class Out, class One>
  static void pack_panels(const Layout& l, const Y* y, std::int64_t p, std::int64_t p_end,
                          std::int64_t depth, Out* out, One one) {
    const std::int64_t first = depth * kDepth * kStep, last = first + l.steps(depth) * kStep;
    for (std::int64_t k = first; k < last; k += E::kGroup, out += E::kGroup * kSide)
      for (std::int64_t i = p; i < p_end; ++i) {
        for (int r = 0; r < E::kGroup; ++r)
          __builtin_prefetch(y + (k + kGroupsAhead * E::kGroup + r) * l.s.n + i * kSide, 0, 2);
        pack_group(l, y, i, k, out + (i - p) * kPanel, one);
      }
  }
  static void hold_panel(const Layout& l, const Y* y, std::int64_t p, std::int64_t depth,
                         Held* out) {
    if constexpr (kWidens)
      pack_panels(l, y, p, p + 1, depth, out, E::hold);
    else
      pack_panels(l, y, p, p + 1, depth, out, E::pack_y);
  }

  /// Rows of X to tile 6, and those below to 7. Where they pass by once a panel, as a stream, which
  /// leaves the panel in L1: beside each other 0.93 of the products on registers, otherwise 0.73. A
  /// tile's number is a literal of the intrinsic.
  template <bool kPassing>
  static void load_upper(const X* x, std::int64_t row_bytes) {
    if constexpr (kPassing)
      _tile_stream_loadd(6, x, row_bytes);
    else
      _tile_loadd(6, x, row_bytes);
  }
  template <bool kPassing>
  static void load_lower(const X* x, std::int64_t row_bytes) {
    if constexpr (kPassing)
      _tile_stream_loadd(7, x, row_bytes);
    else
      _tile_loadd(7, x, row_bytes);
  }

  /// Adds `steps` steps to the sums in tiles 0 and 1, and 2 and 3 below them if kTall. Each asks
  /// for two rows of Z, if `z` is not null.
  template <bool kTall, bool kPassing, class Source>
  static void add_steps(std::int64_t steps, const X* x, std::int64_t ldx, std::int64_t x_step,
                        Source& source, const Z* z, std::int64_t ldz) {
    const std::int64_t row_bytes = ldx * std::int64_t{sizeof(X)};
    for (; steps > 0; --steps, x += x_step) {
      const std::byte* y = source.next();
      source.ask();
      _tile_loadd(4, y, kGroupBytes);
      source.ask();
      load_upper<kPassing>(x, row_bytes);
      E::product_04();
      source.ask();
      _tile_loadd(5, y + Amx::kRowBytes, kGroupBytes);
      E::product_15();
      source.ask();
      if constexpr (kTall) {
        load_lower<kPassing>(x + kHalf * ldx, row_bytes);
        E::product_24();
        E::product_35();
        for (int r = 0; r < 2 && z != nullptr; ++r, z += ldz) {
          __builtin_prefetch(z, 1);
          __builtin_prefetch(z + kHalf, 1);
        }
      }
    }
  }

  /// Adds steps [first, first + steps) with rows of X where they lie.
  template <bool kTall, bool kPassing, class Source>
  static void add_from_rows(const Layout& l, std::int64_t first, std::int64_t steps,
                            std::int64_t rows, const X* x, Source& source, const Z* z) {
    const std::int64_t whole = lesser(steps, l.s.k / kStep - first);
    add_steps<kTall, kPassing>(whole, x + first * kStep, l.s.k, kStep, source, z, l.s.n);
    if (whole == steps) return;
    // The end of K: rows of X go on with what is no part of the product.
    alignas(64) X edge[kSide * kStep] = {};
    pack_x(l, first + whole, rows, x, edge);
    Amx::memory_fence();
    add_steps<kTall, false>(1, edge, kStep, 0, source, nullptr, l.s.n);
  }

  /// One step of `rows` rows of X, each 64 bytes behind the one before, zeros beyond K.
  static void pack_x(const Layout& l, std::int64_t step, std::int64_t rows, const X* x, X* out) {
    const std::int64_t k = step * kStep, depth = lesser(kStep, l.s.k - k);
    for (std::int64_t r = 0; r < rows; ++r, out += kStep) {
      const X* from = x + r * l.s.k + k;
      if (depth == kStep) {
        std::memcpy(out, from, Amx::kRowBytes);
      } else {
        std::memset(out, 0, Amx::kRowBytes);
        std::memcpy(out, from, static_cast<std::size_t>(depth) * sizeof(X));
      }
    }
  }

  /// Sums begin from where they lie, or, if that is null, from zero.
  template <bool kTall>
  static void start(const Z* from, std::int64_t ld) {
    if (from == nullptr) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      return;
    }
    const std::int64_t row_bytes = ld * std::int64_t{sizeof(Z)};
    Amx::memory_fence();
    _tile_loadd(0, from, row_bytes);
    _tile_loadd(1, from + kHalf, row_bytes);
    if constexpr (kTall) {
      _tile_loadd(2, from + kHalf * ld, row_bytes);
      _tile_loadd(3, from + kHalf * ld + kHalf, row_bytes);
    }
  }
  template <bool kTall>
  static void store(Z* to, std::int64_t ld) {
    const std::int64_t row_bytes = ld * std::int64_t{sizeof(Z)};
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + kHalf, row_bytes);
    if constexpr (kTall) {
      _tile_stored(2, to + kHalf * ld, row_bytes);
      _tile_stored(3, to + kHalf * ld + kHalf, row_bytes);
    }
    Amx::memory_fence();
  }

  /// Where row r of X lies in a step, elements: pieces, in each the blocks of 32 rows, in each the
  /// steps, in each its rows 64 bytes apart, so that a panel takes X from first to last.
  static std::int64_t x_place(const Layout& l, std::int64_t step, std::int64_t r) {
    const std::int64_t at = step / l.piece() * l.piece(), row = r / kSide * kSide;
    const std::int64_t steps = lesser(l.piece(), l.all_steps - at);
    return (at * l.few_rows + row * steps + r - row) * kStep + (step - at) * x_step(l, r);
  }
  /// From there to the next step of a piece.
  static std::int64_t x_step(const Layout& l, std::int64_t r) {
    return lesser(kSide, l.few_rows - r / kSide * kSide) * kStep;
  }

  /// The sums of all rows of X and the columns of panel p over steps [first, last), a multiple of
  /// pieces but for the last. The weights are one stream: each piece of it stays in L1 while the
  /// blocks of rows, whose sums are in L1 between, take it in turn.
  static void few_rows(const Layout& l, std::int64_t p, std::int64_t first, std::int64_t last,
                       const X* x, const Held* held, Panel* own, Z* sums) {
    const Held* from = held + l.held(p, first / kDepth);
    const std::int64_t blocks = blocks_of(l.few_rows, kSide), piece = l.piece();
    const auto over = [&](auto with_source) {
      for (std::int64_t at = first; at < last; at += piece)
        for (std::int64_t block = 0; block < blocks; ++block) {
          const std::int64_t row = block * kSide, rows = lesser(kSide, l.few_rows - row);
          const std::int64_t steps = lesser(piece, last - at);
          const X* const rows_of_x = x + x_place(l, at, row);
          Z* const of_block = sums + row * kSide;
          const auto add = [&](auto tall, auto& source) {
            start<tall>(at > 0 ? of_block : nullptr, kSide);
            add_steps<tall, false>(steps, rows_of_x, kStep, rows * kStep, source, nullptr, 0);
            store<tall>(of_block, kSide);
          };
          with_source(at - first, block, [&](auto& source) {
            if (rows > kHalf)
              add(std::true_type(), source);
            else
              add(std::false_type(), source);
          });
        }
    };
    if constexpr (kWidens) {
      const std::int64_t places = blocks == 1 ? 4 : 2 * piece;  // 8 to 32 KB, which stay in L1
      Widened<E> widened(from, own, places, last - first);
      over([&](std::int64_t at, std::int64_t block, auto add) {
        if (block == 0) return add(widened);
        const Panel* made = own + at % places * kStepElements;
        InPlace in_place{reinterpret_cast<const std::byte*>(made)};
        add(in_place);
      });
    } else {
      const auto* weights = reinterpret_cast<const std::byte*>(from);
      over([&](std::int64_t at, std::int64_t block, auto add) {
        if (blocks == 1) {
          Paced<kPauseAhead> one{{weights}, weights + kAhead, kStepLines / 4};
          add(one);
        } else {
          Paged some(weights, at, lesser(piece, last - first - at), block, blocks);
          add(some);
        }
      });
    }
  }

  /// A part of Z, of which L2 holds the sums while all of K passes, and what it comes from.
  struct Part {
    std::int64_t m, m_end, p, p_end;  ///< rows, panels
    const X* x;
    const X* packed_x;  ///< null: x where it lies
    const Y* y;
    const Held* held;  ///< null: y is packed
    const float* scales;
    Z* z;
    Panel* panels;      ///< the thread's own
    bool made = false;  ///< those of all depths are there already

    bool packs() const { return held == nullptr && !made; }
    Panel* slot(const Layout& l, std::int64_t panel, std::int64_t depth) const {
      return panels + (held != nullptr ? 0 : (l.again() ? depth * l.nc : 0) + panel - p) * kPanel;
    }
  };

  /// The panel of these columns at this depth, where it lies, packed or widened.
  static const Panel* panel_of(const Layout& l, const Part& part, std::int64_t p,
                               std::int64_t depth) {
    Panel* const slot = part.slot(l, p, depth);
    if (part.held == nullptr) return slot;
    const Held* from = part.held + l.held(p, depth);
    if constexpr (kWidens) {
      for (std::int64_t i = 0; i < l.steps(depth); ++i)
        E::widen(from + i * kStepElements, slot + i * kStepElements);
      return slot;
    } else {
      return from;
    }
  }

  /// The panel after panel p, and how many lines of it are to be asked for: none if it is yet to be
  /// packed.
  struct Next {
    const std::byte* at;
    std::int64_t lines;
  };
  static Next next_panel(const Layout& l, const Part& part, std::int64_t p, std::int64_t depth) {
    if (++p == part.p_end) p = part.p, ++depth;
    if (depth == l.depths || part.packs()) return {nullptr, 0};
    const void* from = part.slot(l, p, depth);
    std::int64_t lines = l.steps(depth) * kStepLines;
    if (part.held != nullptr) {
      from = part.held + l.held(p, depth);
      if constexpr (kWidens) lines /= sizeof(Panel) / sizeof(Held);
    }
    return {static_cast<const std::byte*>(from), lines};
  }
  /// Asks for it while panel p takes `steps` steps, and for what each panel asks of X at the depth
  /// after this one, or, behind the last, at the first.
  static Streams streams(const Layout& l, const Part& part, std::int64_t p, std::int64_t depth,
                         std::int64_t steps) {
    const Next next = next_panel(l, part, p, depth);
    Streams source{
        {nullptr}, next.at, nullptr, next.lines / 4 * 64, blocks_of(next.lines, 4 * steps), 0};
    if (part.packed_x == nullptr) return source;
    const std::int64_t later = (depth + 1) % l.depths,
                       blocks = blocks_of(part.m_end - part.m, kSide);
    const std::int64_t lines = blocks * l.steps(later) * kSide;
    source.x_lines = blocks_of(lines, (part.p_end - part.p) * steps);
    source.x = reinterpret_cast<const std::byte*>(part.packed_x + piece_place(l, part.m, later)) +
               (p - part.p) * source.x_lines * steps * 64;
    return source;
  }

  /// Adds what the panel of columns p at this depth brings to the rows of a part, whose `sums` lie
  /// block by block.
  template <class Source>
  static void add_panel(const Layout& l, const Part& part, std::int64_t p, std::int64_t depth,
                        const Panel* panel, Source source, Z* sums) {
    const std::int64_t column = p * kSide, width = lesser(kSide, l.s.n - column);
    const bool last = depth + 1 == l.depths, in_place = width == kSide && part.scales == nullptr;
    std::int64_t configured = kSide;
    for (std::int64_t row = part.m; row < part.m_end; row += kSide, sums += kSide * kSide) {
      const std::int64_t rows = lesser(kSide, part.m_end - row);
      if (rows != configured) Amx::configure(rows);
      configured = rows;
      alignas(64) Z edge[kSide * kSide];
      Z* const z = part.z + row * l.s.n + column;
      Z* const to = !last ? sums : in_place ? z : edge;
      source.at = reinterpret_cast<const std::byte*>(panel);
      const auto add = [&](auto tall) {
        start<tall>(depth > 0 ? sums : nullptr, kSide);
        if (part.packed_x != nullptr)
          add_steps<tall, true>(l.steps(depth), part.packed_x + piece_place(l, row, depth), kStep,
                                kSide * kStep, source, to == z ? z : nullptr, l.s.n);
        else if (l.aligned)
          add_from_rows<tall, true>(l, depth * kDepth, l.steps(depth), rows, part.x + row * l.s.k,
                                    source, to == z ? z : nullptr);
        else
          add_from_rows<tall, false>(l, depth * kDepth, l.steps(depth), rows, part.x + row * l.s.k,
                                     source, to == z ? z : nullptr);
        store<tall>(to, to == z ? l.s.n : kSide);
      };
      if (rows > kHalf)
        add(std::true_type());
      else
        add(std::false_type());
      if (to == edge)
        put_rows(edge, z, l.s.n, rows, width,
                 part.scales != nullptr ? part.scales + column : nullptr);
    }
    if (configured != kSide) Amx::configure(kSide);
  }

  /// A part's rows and columns over all of K.
  static void all_of(const Layout& l, const Part& part) {
    const std::int64_t blocks = blocks_of(part.m_end - part.m, kSide);
    Z* const sums = reinterpret_cast<Z*>(part.panels + l.own_panels * kPanel);
    for (std::int64_t depth = 0; depth < l.depths; ++depth) {
      if (part.packs())
        pack_panels(l, part.y, part.p, part.p_end, depth, part.slot(l, part.p, depth), E::pack_y);
      for (std::int64_t p = part.p; p < part.p_end; ++p) {
        const Panel* panel = panel_of(l, part, p, depth);
        Amx::memory_fence();
        Z* const of_panel = sums + (p - part.p) * blocks * kSide * kSide;
        const std::int64_t steps = blocks * l.steps(depth);
        if (l.far) {
          add_panel(l, part, p, depth, panel, streams(l, part, p, depth, steps), of_panel);
        } else {
          const Next next = next_panel(l, part, p, depth);
          const Paced<0> source{{nullptr}, next.at, blocks_of(next.lines, 4 * steps)};
          add_panel(l, part, p, depth, panel, source, of_panel);
        }
      }
    }
  }

  static void multiply(const Plan& plan, const X* x, const Y* y, const Held* held,
                       const float* scales, Z* z) {
    const Layout l = layout(plan, held != nullptr);
#pragma omp parallel num_threads(plan.threads)
    {
      Amx::configure();
      X* const packed_x = l.packs_x ? static_cast<X*>(plan.workspace) : nullptr;
      if (packed_x != nullptr) {
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < l.s.m; row += kSide)
          for (std::int64_t step = 0; step < l.all_steps; ++step)
            pack_x(l, step, lesser(kSide, l.s.m - row), x + row * l.s.k,
                   packed_x + piece_place(l, row, step / kDepth) + step % kDepth * kSide * kStep);
      }
      // The same rows to the same thread in every call: their X and Z are in its L2. 512 cubed on
      // two cores, weights packed before: 94 us as threads come for tasks, 78 so.
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < l.row_tasks * l.column_tasks; ++i) {
        const std::int64_t r = i / l.column_tasks, c = i % l.column_tasks, end = l.row(r + 1);
        Part part{l.row(r), 0,      l.column(c), l.column(c + 1), x, packed_x, y,
                  held,     scales, z,           own_of(plan, l)};
        for (; part.m < end; part.m = part.m_end, part.made = held == nullptr) {
          part.m_end = lesser(part.m + l.rows, end);
          all_of(l, part);
        }
      }
      Amx::leave();
    }
  }

  /// The calling thread's panels, and behind them its X.
  static Panel* own_of(const Plan& plan, const Layout& l) {
    return reinterpret_cast<Panel*>(static_cast<std::byte*>(plan.workspace) + sums_bytes(l) +
                                    all_x_bytes(l) +
                                    omp_get_thread_num() * (own_bytes(l) + x_bytes(l)));
  }

  /// Few rows, of weights packed before. All threads call `prepare()`; then, for each its own X,
  /// `pack(l, at, steps, out)`, which brings these steps of a piece to their places from `out` on;
  /// `put(i, sums)` takes the sums of all rows, kSide apart, and the i-th kTogether panels, kSums
  /// apart.
  template <int kTogether, class Prepare, class Pack, class Put>
  static void stream(const Plan& plan, const Held* held, Prepare prepare, Pack pack, Put put) {
    const Layout l = layout(plan, true);
    Z* const kept = static_cast<Z*>(plan.workspace);
    const std::int64_t all = l.columns / kTogether, dealt = all / 2;
#pragma omp parallel num_threads(plan.threads)
    {
      alignas(64) Z own[kTogether * kSums];
      Panel* const panels = own_of(plan, l);
      X* const own_x = reinterpret_cast<X*>(reinterpret_cast<std::byte*>(panels) + own_bytes(l));
      const std::int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      const std::int64_t begin = dealt * thread / threads, end = dealt * (thread + 1) / threads;
      prepare();
      Amx::configure(lesser(kSide, l.few_rows));
      for (std::int64_t first = 0; first < l.all_steps; first += l.few_pass) {
        const std::int64_t last = lesser(l.all_steps, first + l.few_pass);
        X* const x = own_x - x_place(l, first, 0);
        const std::int64_t chunk = lesser(kDepth, l.piece());
        for (std::int64_t at = first; at < last; at += chunk)
          pack(l, at, lesser(chunk, last - at), x);
        const auto one = [&](std::int64_t i) {
          Z* const sums = sums_bytes(l) == 0 ? own : kept + i * kTogether * kSums;
          for (int p = 0; p < kTogether; ++p)
            few_rows(l, i * kTogether + p, first, last, x, held, panels, sums + p * kSums);
          if (last == l.all_steps) put(i, sums);
        };
        // Half in equal shares, 3 to 5 % faster than all as threads come for them; the last columns
        // one by one.
        for (std::int64_t i = begin; i < end; ++i) one(i);
#pragma omp for schedule(guided)
        for (std::int64_t i = dealt; i < all; ++i) one(i);
      }
      __atomic_thread_fence(__ATOMIC_SEQ_CST);  // what went past the caches is there
      Amx::leave();
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    multiply(plan, x, y, nullptr, scales, z);
  }
  static std::int64_t packed_bytes(const Plan& plan) {
    const Layout l = layout(plan, true);
    return l.columns * l.all_steps * kStepElements * std::int64_t{sizeof(Held)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Layout l = layout(plan, true);
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
    for (std::int64_t i = 0; i < l.columns * l.depths; ++i) {
      const std::int64_t p = i / l.depths, depth = i % l.depths;
      hold_panel(l, y, p, depth, static_cast<Held*>(packed) + l.held(p, depth));
    }
  }
  /// stream() of rows of X as they lie.
  template <int kTogether, class Put>
  static void stream_rows(const Plan& plan, const X* x, const void* packed, Put put) {
    const Shape& s = plan.shape;
    const auto pack = [&](const Layout& l, std::int64_t at, std::int64_t steps, X* out) {
      for (std::int64_t r = 0; r < s.m; ++r) {
        X* to = out + x_place(l, at, r);
        for (std::int64_t i = at; i < at + steps; ++i, to += x_step(l, r)) {
          // What the next call takes of the row; the hardware, which sees a few lines of each row,
          // does not: M = 64, 2 to 4 %.
          __builtin_prefetch(x + r * s.k + (i + steps) * kStep, 0, 2);
          pack_x(l, i, 1, x + r * s.k, to);
        }
      }
    };
    stream<kTogether>(
        plan, static_cast<const Held*>(packed), [] {}, pack, put);
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float* scales,
                         Z* z) {
    const Shape& s = plan.shape;
    if (s.m > kFewRows)
      return multiply(plan, x, nullptr, static_cast<const Held*>(packed), scales, z);
    stream_rows<1>(plan, x, packed, [&](std::int64_t p, const Z* sums) {
      const std::int64_t column = p * kSide, width = lesser(kSide, s.n - column);
      for (std::int64_t r = 0; r < s.m; ++r, sums += kSide) {
        alignas(64) Z row[kSide];
        put_rows(sums, row, 0, 1, width, scales != nullptr ? scales + column : nullptr);
        put_row(row, z + r * s.n + column, width);
      }
    });
  }
  static void run_gated(const Plan& plan, const X* x, const void* packed, const float* scales,
                        bf16* out) {
    const Shape& s = plan.shape;
    stream_rows<2>(plan, x, packed, [&](std::int64_t i, const Z* sums) {
      const float* of_gates = scales != nullptr ? scales + i * 2 * kSide : nullptr;
      const float* of_up = scales != nullptr ? of_gates + kSide : nullptr;
      for (std::int64_t r = 0; r < s.m; ++r, sums += kSide) {
        alignas(64) Z gates[kSide], up[kSide];
        put_rows(sums, gates, 0, 1, kSide, of_gates);
        put_rows(sums + kSums, up, 0, 1, kSide, of_up);
        put_gated(gates, up, out + r * s.n / 2 + i * kSide);
      }
    });
  }

  static constexpr Routine<X, Y, Z> routine() {
    Routine<X, Y, Z> r = {.run = run,
                          .packed_bytes = packed_bytes,
                          .pack = pack,
                          .run_packed = run_packed,
                          .workspace_bytes = workspace_bytes,
                          .tiles = tiles};
    if constexpr (std::is_same_v<Z, float>) {
      r.run_gated = run_gated;
      r.gated_rows = kFewRows;
    }
    return r;
  }
};

}  // namespace
}  // namespace kernels::matmul
