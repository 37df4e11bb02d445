// The matmul of few rows, written once over an engine (matmul_engine.hpp).
//
// Y is read once, where it lies, in the order of memory; it is never packed. A task is a segment of
// columns over a part of K. A thread adds up all of its tasks of a segment in one M x segment
// buffer in cache, kDepth groups of K a visit: kRows rows of Y are that many sequential streams
// for the prefetcher, and each loaded vector of Y is used for all M rows. The threads' sums are
// added up at the end, in an order that may differ from call to call, as threads share the tasks
// (shares.hpp).
//
// An engine with parts (matmul_engine.hpp) has here
//   unit_of(x, n)              the unit of a row of n values
//   split_x(x, unit, parts)    kSplit values of a row as kParts rows
//   joined(high, low)          a sum, in units, from those of both parts
#pragma once

#include <omp.h>

#include <algorithm>

#include "kernels/matmul/matmul_skinny_layout.hpp"
#include "kernels/shares.hpp"
#include "kernels/simd/opaque.hpp"

namespace kernels::matmul {
namespace {

/// `Depth` groups of K a visit; 0: as many as suit one row. `Together` rows of sums at a time.
template <class E, int Depth = 0, int Together = 1>
struct Skinny {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  using Layout = SkinnyLayout<E, Depth>;
  using Asking = typename Layout::Asking;
  using Kept = typename Layout::Kept;
  using Sum = typename Layout::Sum;
  static constexpr int kParts = Layout::kParts, kOffset = Layout::kOffset, kDepth = Layout::kDepth;
  static constexpr std::int64_t kNr = Layout::kNr, kRows = Layout::kRows, kLine = Layout::kLine;

  /// The lines of a visit, asked for in the order of memory. `kLevel` as of __builtin_prefetch().
  struct Lines {
    const std::byte *at, *row_end;
    std::int64_t width, apart;  ///< bytes of a row; from one to the next
    static Lines of(const Y* y, std::int64_t columns, std::int64_t ldy) {
      const auto* const at = reinterpret_cast<const std::byte*>(y);
      const std::int64_t wide = columns * std::int64_t{sizeof(Y)};
      return {at, at + wide, wide, ldy * std::int64_t{sizeof(Y)}};
    }
    template <int kLevel>
    void ask() {
      __builtin_prefetch(at, 0, kLevel);
      at += kLine;
      if (at < row_end) return;
      at += apart - width;
      row_end += apart;
    }
  };

  /// Who adds up where.
  struct Books {
    Share* shares;        ///< [threads]
    std::int64_t* taken;  ///< [segments]: sums that have been begun
    std::int64_t* mine;   ///< [threads][segments]: which of them is a thread's; -1: none yet
    Sum* offsets;  ///< [parts][rows]: what is too much in each row's sums; if there is an offset
    float* units;  ///< [M]: of rows in several parts

    static constexpr std::int64_t bytes(std::int64_t threads, const Layout& l) {
      return threads * std::int64_t{sizeof(Share)} +
             (threads + 1) * l.segments * std::int64_t{sizeof(std::int64_t)} +
             (kOffset != 0 ? l.parts * l.rows * std::int64_t{sizeof(Sum)} : 0) +
             (kParts > 1 ? l.s.m * std::int64_t{sizeof(float)} : 0);
    }
    Books(std::byte* space, int threads, const Layout& l)
        : shares(reinterpret_cast<Share*>(space)),
          taken(reinterpret_cast<std::int64_t*>(shares + threads)),
          mine(taken + l.segments),
          offsets(reinterpret_cast<Sum*>(mine + threads * l.segments)),
          units(reinterpret_cast<float*>(offsets + (kOffset != 0 ? l.parts * l.rows : 0))) {
      clear(shares, threads);
      for (std::int64_t i = 0; i < l.segments; ++i) taken[i] = 0;
      for (std::int64_t i = 0; i < threads * l.segments; ++i) mine[i] = -1;
    }
  };

  static std::int64_t workspace_bytes(const Plan& plan) {
    const Layout l = Layout::of(plan);
    return l.x_bytes + l.buffers * l.sums * std::int64_t{sizeof(Kept)} +
           Books::bytes(plan.threads, l);
  }

  /// kDepth groups of K of all rows side by side: [K / kRows][rows][kRows], padded with zeros.
  static void pack_x(const Layout& l, const X* x, std::int64_t begin, std::int64_t end,
                     const float* units, Xp* out) noexcept {
    if constexpr (kParts > 1) {
      pack_parts(l, x, begin, end, units, out);
    } else {
      // Of bytes, a store to `out` may be one to `l`.
      const std::int64_t rows = l.s.m, depth = l.s.k;
      for (std::int64_t k = begin; k < end; k += kRows)
        for (std::int64_t m = 0; m < rows; ++m) {
          const X* const from = x + m * depth + k;
          Xp* const to = out + k * rows + m * kRows;
          if (k + kRows <= depth) {
            copy_x(from, kRows, to);
          } else {
            copy_x(from, depth - k, to);
            std::fill(to + (depth - k), to + kRows, Xp{});
          }
        }
    }
  }

  [[gnu::always_inline]] static inline void copy_x(const X* from, std::int64_t count, Xp* to) {
    if constexpr (std::is_same_v<X, Xp>)
      std::copy_n(from, count, to);
    else
      std::transform(from, from + count, to, [](X v) { return static_cast<Xp>(v); });
  }

  static void pack_parts(const Layout& l, const X* x, std::int64_t begin, std::int64_t end,
                         const float* units, Xp* out) noexcept {
    static_assert(E::kSplit % kRows == 0);
    for (std::int64_t m = 0; m < l.s.m; ++m)
      for (std::int64_t k = begin; k < end; k += E::kSplit) {
        const X* from = x + m * l.s.k + k;
        X padded[E::kSplit] = {};
        if (k + E::kSplit > l.s.k) {
          for (std::int64_t i = k; i < l.s.k; ++i) padded[i - k] = x[m * l.s.k + i];
          from = padded;
        }
        Xp split[kParts][E::kSplit];
        E::split_x(from, units[m], split);
        for (std::int64_t i = 0; i < E::kSplit && k + i < end; i += kRows)
          for (int part = 0; part < kParts; ++part)
            __builtin_memcpy(out + (k + i) * l.rows + (m * kParts + part) * kRows, split[part] + i,
                             kRows * sizeof(Xp));
      }
  }

  /// Of packed X.
  static void sum_offsets(const Layout& l, const Xp* x, std::int64_t begin, std::int64_t end,
                          Sum* offsets) noexcept {
    for (std::int64_t row = 0; row < l.rows; ++row) {
      std::int32_t sum = 0;
      for (std::int64_t k = begin; k < end; k += kRows)
        for (std::int64_t i = 0; i < kRows; ++i) sum += x[k * l.rows + row * kRows + i];
      offsets[row] = static_cast<Sum>(kOffset) * static_cast<Sum>(sum);
    }
  }

  /// Adds `Groups` groups of one strip of nr columns to the sums of all rows, and asks for as many
  /// lines (kInOrder).
  template <int Groups, Asking kAsking>
  [[gnu::always_inline]] static inline void strip(const Layout& l, const Xp* x, const Y* y,
                                                  std::int64_t ldy, Lines& lines, bool add,
                                                  Kept* sums) {
    typename E::W w[Groups][E::kVectors];
#pragma GCC unroll 8
    for (int d = 0; d < Groups; ++d) E::load_rows(y + d * E::kGroup * ldy, ldy, w[d]);
    constexpr std::int64_t kStripLines = kRows * kNr * std::int64_t{sizeof(Y)} / kLine;
    std::int64_t asks = kAsking == Asking::kInOrder ? kStripLines : 0;
    const std::int64_t asks_a_row = kAsking == Asking::kInOrder ? blocks_of(asks, l.rows) : 0;
    const auto add_to = [&]<int Rows>(std::int64_t row) __attribute__((always_inline)) {
      for (std::int64_t i = lesser(Rows * asks_a_row, asks); i > 0; --i, --asks)
        lines.template ask<2>();
      typename E::V acc[Rows][E::kVectors];
      Kept* const at = sums + row * kNr;
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          acc[r][v] = add ? E::load_sums(at + r * kNr + v * E::kLanes) : E::zero();
#pragma GCC unroll 8
      for (int d = 0; d < Groups; ++d)
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
          const auto b = E::broadcast(x + (row + r) * kRows + d * E::kGroup);
#pragma GCC unroll 4
          for (int v = 0; v < E::kVectors; ++v) acc[r][v] = E::step(acc[r][v], w[d][v], b);
        }
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < E::kVectors; ++v)
          E::put(at + r * kNr + v * E::kLanes, acc[r][v], false, nullptr, 0);
    };
    std::int64_t row = 0;
    for (; row + Together <= l.rows; row += Together) add_to.template operator()<Together>(row);
    if constexpr (Together > 1)
      for (; row < l.rows; ++row) add_to.template operator()<1>(row);
  }

  /// Asks for a strip of a visit's rows, once a line. `kLevel` as of __builtin_prefetch().
  template <int kLevel>
  [[gnu::always_inline]] static inline void prefetch(const Y* y, std::int64_t ldy) {
    constexpr std::int64_t kStrip = kNr * std::int64_t{sizeof(Y)};
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t at = 0; at < kStrip; at += kLine)
        __builtin_prefetch(reinterpret_cast<const std::byte*>(y + i * ldy) + at, 0, kLevel);
  }

  /// A visit, `Groups` groups at a time. Of bytes, asks for the next ones in the order of memory.
  /// `kLevel` as of __builtin_prefetch().
  template <int Groups, int kLevel>
  static void row_by_row(const Layout& l, const Xp* x, const Y* y, std::int64_t whole, bool add,
                         Kept* sums) noexcept {
    constexpr std::int64_t kSteps = Groups * E::kGroup, kLineEntries = kLine / sizeof(Y);
    constexpr std::int64_t kAhead =
        (Groups == 1 ? Layout::kRowAhead : Layout::kWideAhead) / std::int64_t{sizeof(Y)};
    Lines none{};
    for (std::int64_t d = 0; d < kDepth; d += Groups, x += kSteps, add = true) {
      Lines next = Lines::of(y + kSteps * l.s.n, whole, l.s.n);
      for (std::int64_t j = 0; j < whole; j += kNr) {
        if constexpr (sizeof(Y) == 1) {
          for (std::int64_t line = 0; line < kSteps * kNr / kLineEntries; ++line)
            next.template ask<kLevel>();
        } else if (j % kLineEntries == 0) {
          static_assert(E::kGroup == 1, "or each of its rows needs requests of its own");
#pragma GCC unroll 4
          for (std::int64_t g = 0; g < Groups; ++g)
            for (std::int64_t at = 0; at < kNr; at += kLineEntries)
              __builtin_prefetch(y + g * l.s.n + j + kAhead + at, 0, kLevel);
        }
        strip<Groups, Asking::kNone>(l, x, y + j, l.s.n, none, add, sums + j * l.rows);
      }
      y += kSteps * l.s.n;
    }
  }

  /// sums += `Rows` rows of Y, `apart` from one to the next, times x: of each vector a load, Rows
  /// multiply-adds from memory and a store, with one index for all. Y is of the sums' type. Where
  /// `kAsks`, lines are asked for into L2 Layout::kEightAhead bytes before.
  template <int Rows, bool kAsks>
  [[gnu::noinline]] static void add_rows(const Xp* x, const Y* y, std::int64_t apart,
                                         std::int64_t whole, Kept* sums) noexcept {
    const Y* row[Rows];
    decltype(E::broadcast(x)) factor[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      row[r] = y + r * apart;
      opaque(row[r]);
      factor[r] = E::broadcast(x + r);
    }
#pragma GCC unroll 1
    for (std::int64_t j = 0; j < whole; j += E::kLanes) {
      auto sum = E::load_sums(sums + j);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if constexpr (kAsks)
          __builtin_prefetch(row[r] + j + Layout::kEightAhead / std::int64_t{sizeof(Y)}, 0, 2);
        sum = E::step(sum, E::load_sums(row[r] + j), factor[r]);
      }
      E::put(sums + j, sum, false, nullptr, 0);
    }
  }

  template <Asking kAsking>
  static void task(const Layout& l, const Xp* x, const Y* y, std::int64_t column,
                   std::int64_t begin, std::int64_t end, bool more, Kept* sums) noexcept {
    const std::int64_t width = lesser(l.segment, l.s.n - column), whole = width / kNr * kNr;
    for (std::int64_t k = begin; k < end; k += kRows) {
      const Xp* xk = x + k * l.rows;
      const Y* yk = y + k * l.s.n + column;
      // The rows behind a task are mostly the same thread's next ones.
      const bool add = more || k > begin, more_visits = k + 2 * kRows <= l.s.k;
      Lines lines = Lines::of(yk + (more_visits ? kRows * l.s.n : 0), whole, l.s.n);
      std::int64_t j = 0;
      if constexpr (kAsking == Asking::kRowByRow || kAsking == Asking::kRowsByRow) {
        constexpr int kGroups = kAsking == Asking::kRowByRow ? Layout::kShort : Layout::kLong;
        if (k + kRows <= l.s.k) {
          if (sizeof(Y) == 1 && l.reading == Reading::into_l2)
            row_by_row<kGroups, 2>(l, xk, yk, whole, add, sums);
          else
            row_by_row<kGroups, 3>(l, xk, yk, whole, add, sums);
          j = whole;
        }
      } else if constexpr (kAsking == Asking::kInFours || kAsking == Asking::kInEights) {
        constexpr bool kEight = kAsking == Asking::kInEights;
        constexpr int kAtOnce = kEight ? Layout::kEight : Layout::kFour;
        if (k + kRows <= l.s.k) {
          if (!add) std::fill_n(sums, whole, Kept{});
          for (int d = 0; d < kDepth; d += kAtOnce)
            add_rows<kAtOnce, kEight>(xk + d, yk + d * l.s.n, l.s.n, whole, sums);
          j = whole;
        }
      } else if (k + kRows <= l.s.k)
        for (; j < whole; j += kNr) {
          Kept* const to = sums + j * l.rows;
          if constexpr (kAsking == Asking::kInOrder) {
            strip<kDepth, kAsking>(l, xk, yk + j, l.s.n, lines, add, to);
            continue;
          }
          const auto further = [&](std::int64_t at) {
            return yk + at + (at < whole ? 0 : kRows * l.s.n - whole);
          };
          const bool in_visit = j + l.ahead < whole;
          if (j * std::int64_t{sizeof(Y)} % kLine == 0 && (in_visit || more_visits)) {
            if (l.into_l2)
              prefetch<2>(further(j + l.ahead), l.s.n);
            else
              prefetch<3>(further(j + l.ahead), l.s.n);
            if constexpr (kAsking == Asking::kTwice) prefetch<3>(further(j + l.again), l.s.n);
          }
          strip<kDepth, Asking::kNone>(l, xk, yk + j, l.s.n, lines, add, to);
        }
      // Rows or columns that are missing: a copy padded with zeros.
      for (; j < width; j += kNr) {
        Y edge[kRows * kNr] = {};
        for (std::int64_t i = 0; i < kRows && k + i < l.s.k; ++i)
          for (std::int64_t c = 0; c < kNr && j + c < width; ++c)
            edge[i * kNr + c] = yk[i * l.s.n + j + c];
        strip<kDepth, Asking::kNone>(l, xk, edge, kNr, lines, add, sums + j * l.rows);
      }
    }
  }

  /// One row of sums of a strip of nr columns, of all that the threads have added up.
  static void gather(const Layout& l, const Kept* sums, std::int64_t buffers, const Sum* offsets,
                     std::int64_t row, Sum (&total)[kNr]) noexcept {
    Sum offset = 0;
    if constexpr (kOffset != 0)
      for (std::int64_t p = 0; p < l.parts; ++p) offset += offsets[p * l.rows + row];
    for (Sum& t : total) t = -offset;
    for (std::int64_t b = 0; b < buffers; ++b)
      for (std::int64_t j = 0; j < kNr; ++j)
        total[j] += static_cast<Sum>(sums[b * l.sums + row * kNr + j]);
  }

  /// Z of one strip of nr columns.
  static void add_up(const Layout& l, const Kept* sums, std::int64_t buffers, const Books& books,
                     const float* scales, std::int64_t column, Z* z) noexcept {
    const std::int64_t count = lesser(kNr, l.s.n - column);
    for (std::int64_t m = 0; m < l.s.m; ++m) {
      Sum totals[kParts][kNr];
      for (int part = 0; part < kParts; ++part)
        gather(l, sums, buffers, books.offsets, m * kParts + part, totals[part]);
      Z row[kNr];
      for (std::int64_t j = 0; j < kNr; ++j)
        if constexpr (kParts > 1)
          row[j] = E::joined(static_cast<Kept>(totals[0][j]), static_cast<Kept>(totals[1][j])) *
                   books.units[m];
        else
          row[j] = static_cast<Z>(totals[0][j]);
      if (scales != nullptr)
        for (std::int64_t j = 0; j < count; ++j) row[j] *= static_cast<Z>(scales[column + j]);
      for (std::int64_t j = 0; j < count; ++j) z[m * l.s.n + column + j] = row[j];
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    const Layout l = Layout::of(plan);
    auto* space = static_cast<std::byte*>(plan.workspace);
    Xp* xp = reinterpret_cast<Xp*>(space);
    Kept* all_sums = reinterpret_cast<Kept*>(space + l.x_bytes);
    const Books books(reinterpret_cast<std::byte*>(all_sums + l.buffers * l.sums), plan.threads, l);
    const std::int64_t tasks = l.parts * l.segments, own_tasks = blocks_of(tasks, plan.threads);
#pragma omp parallel num_threads(plan.threads)
    {
      if constexpr (kParts > 1) {
#pragma omp for schedule(static)
        for (std::int64_t m = 0; m < l.s.m; ++m) books.units[m] = E::unit_of(x + m * l.s.k, l.s.k);
      }
#pragma omp for schedule(static)
      for (std::int64_t p = 0; p < l.parts; ++p) {
        const std::int64_t end = lesser((p + 1) * l.part, l.s.k);
        pack_x(l, x, p * l.part, end, books.units, xp);
        if constexpr (kOffset != 0) sum_offsets(l, xp, p * l.part, end, books.offsets + p * l.rows);
      }
      const int thread = omp_get_thread_num();
      std::int64_t* const mine = books.mine + thread * l.segments;
      const auto take = [&](int owner, std::int64_t at) {
        const std::int64_t i = owner * own_tasks + at, segment = i / l.parts, p = i % l.parts;
        if (i >= tasks) return;
        const bool more = mine[segment] >= 0;
        if (!more) mine[segment] = __atomic_fetch_add(&books.taken[segment], 1, __ATOMIC_RELAXED);
        const std::int64_t column = segment * l.segment;
        const std::int64_t end = lesser((p + 1) * l.part, l.s.k);
        Kept* const sums = all_sums + mine[segment] * l.sums + column * l.rows;
        if constexpr (Layout::kByLines) {
          if (l.asking == Asking::kInFours)
            return task<Asking::kInFours>(l, xp, y, column, p * l.part, end, more, sums);
          if (l.asking == Asking::kInEights)
            return task<Asking::kInEights>(l, xp, y, column, p * l.part, end, more, sums);
        } else if constexpr (Layout::kRowByRow) {
          if (l.asking == Asking::kRowByRow)
            return task<Asking::kRowByRow>(l, xp, y, column, p * l.part, end, more, sums);
          if (l.asking == Asking::kRowsByRow)
            return task<Asking::kRowsByRow>(l, xp, y, column, p * l.part, end, more, sums);
        }
        if (l.asking == Asking::kInOrder)
          task<Asking::kInOrder>(l, xp, y, column, p * l.part, end, more, sums);
        else if (l.asking == Asking::kTwice)
          task<Asking::kTwice>(l, xp, y, column, p * l.part, end, more, sums);
        else
          task<Asking::kAhead>(l, xp, y, column, p * l.part, end, more, sums);
      };
      take_pieces(books.shares, plan.threads, thread, own_tasks, take);
#pragma omp barrier
#pragma omp for schedule(static)
      for (std::int64_t strip = 0; strip < blocks_of(l.s.n, kNr); ++strip) {
        const std::int64_t column = strip * kNr;
        add_up(l, all_sums + column * l.rows, books.taken[column / l.segment], books, scales,
               column, z);
      }
    }
  }

  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run, .workspace_bytes = workspace_bytes, .tiles = Layout::tiles};
  }
};

/// From kMany rows on, where memory is read as kReading says: visits of `Depth` groups and
/// `Together` rows of sums at a time, which are loaded and stored less often. Zen 5, cold, bf16, 6
/// groups in place of 4 and four rows, one core: 1.05 to 1.1 times as fast. NOTES.md, "More rows of
/// sums at a time".
template <class E, int Depth, int Together, Reading kReading>
struct SkinnyByRows {
  using Few = Skinny<E>;
  using Many = Skinny<E, Depth, Together>;
  static constexpr std::int64_t kMany = 8;
  static bool many(const Plan& plan) {
    return plan.shape.m >= kMany && reading_of(plan.caches) == kReading;
  }
  static void run(const Plan& plan, const typename E::X* x, const typename E::Y* y,
                  const float* scales, typename E::Z* z) {
    (many(plan) ? Many::run : Few::run)(plan, x, y, scales, z);
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return (many(plan) ? Many::workspace_bytes : Few::workspace_bytes)(plan);
  }
  static Tiles tiles(const Plan& plan, bool packed) {
    return (many(plan) ? Many::Layout::tiles : Few::Layout::tiles)(plan, packed);
  }
  static constexpr Routine<typename E::X, typename E::Y, typename E::Z> routine() {
    return {.run = run, .workspace_bytes = workspace_bytes, .tiles = tiles};
  }
};

}  // namespace
}  // namespace kernels::matmul
