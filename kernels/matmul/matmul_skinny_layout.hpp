// How the matmul of few rows (matmul_skinny.hpp) cuts a product up and asks for memory: everything
// that follows from shape, caches and threads.
#pragma once

#include <type_traits>

#include "kernels/matmul/matmul_engine.hpp"

namespace kernels::matmul {
namespace {

/// Of a product by engine E (matmul_engine.hpp). `Depth` groups of K a visit; 0: as many as suit
/// one row.
template <class E, int Depth>
struct SkinnyLayout {
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  static constexpr int kParts = parts_of<E>();
  using Kept = std::conditional_t<kParts == 1, Z, std::int32_t>;  ///< sums on the way
  /// Sums of int32 may wrap on the way.
  using Sum = std::conditional_t<std::is_integral_v<Kept>, std::uint32_t, Kept>;
  static constexpr std::int64_t kNr = E::kVectors * E::kLanes;
  /// What the engine adds to every value of Y.
  static constexpr int kOffset = [] {
    if constexpr (requires { E::kOffset; }) return E::kOffset;
    return 0;
  }();
  /// Groups a visit: more load and store sums less often, with Y in 8 to 12 registers, 16 of 32. On
  /// Zen 4 8 in place of 6 are 8 % faster at M = 1 (one core, fp64). NOTES.md, "Groups a visit".
  static constexpr int kDepth = Depth > 0                     ? Depth
                                : E::kGroup > 1               ? 4
                                : sizeof(typename E::V) == 64 ? 8
                                                              : 6;
  static constexpr std::int64_t kRows = kDepth * E::kGroup;
  static constexpr std::int64_t kLine = 64;
  /// Row by row: one row of X, where a group is a row or takes little to weave. The hardware
  /// follows the order of memory: one core of Zen 5 reads bf16 at 40 GB/s so, by visits at 32. Some
  /// groups at a time save loads and stores of sums. NOTES.md, "Row by row".
  static constexpr std::int64_t kRowAhead = 8192, kWideAhead = 2048;
  static constexpr std::int64_t kShortRow = 4096;
  /// Row by row on Zen 4: bytes alone, asked for into L2, and where rows so many bytes apart share
  /// a set of its L1 of eight ways. int8 of 4096 columns on one core: 1.17 to 1.25 times as fast.
  /// NOTES.md, "Row by row on Zen 4".
  static constexpr std::int64_t kOneSet = 4096;
  /// Groups at a time: kWide where L1 does not hold the sums of a row. Of bytes kShort, which leave
  /// L1 room for the next ones of a short row; of a longer one kLong, a whole visit.
  static constexpr int kWide = sizeof(typename E::V) == 64 ? 4 : 1;
  static constexpr int kShort = sizeof(Y) == 1 && kDepth % 4 == 0 ? 4 / E::kGroup : 1;
  static constexpr int kLong = sizeof(Y) == 1 ? kDepth : kWide;
  static constexpr bool kRowByRow = sizeof(Y) > 1 ? E::kGroup == 1 : kShort > 1;
  /// Or four rows at a time and no requests, where one instruction multiplies a line as it lies: a
  /// core of Zen 5 reads as far ahead as its window reaches. fp32 of 14336 columns on one core:
  /// 1.20 times as fast as row by row. NOTES.md, "Four rows at a time".
  static constexpr int kFour = 4;
  /// Or eight rows, asked for so many bytes before into L2, one core of Zen 4, fp32 and fp64: 1.08
  /// to 1.14 times as fast as by visits. NOTES.md, "Eight rows at a time".
  static constexpr int kEight = 8;
  static constexpr std::int64_t kEightAhead = 1024;
  static constexpr bool kByLines =
      std::is_same_v<Y, Kept> && sizeof(typename E::V) == 64 && kDepth % kEight == 0;

  /// How lines are asked for before they are loaded.
  enum class Asking {
    kNone,
    kAhead,      ///< a strip's at once, some columns before their turn
    kTwice,      ///< so, and once more nearer by
    kInOrder,    ///< a visit before, in the order of memory, spread over the rows of sums
    kRowByRow,   ///< few of a visit's groups after the others, see kRowAhead and kOneSet
    kRowsByRow,  ///< so, but more of them
    kInFours,    ///< not at all, see kFour
    kInEights    ///< see kEight
  };

  Shape s;
  std::int64_t rows;               ///< of X and of sums: all parts of every row
  std::int64_t segment, segments;  ///< columns a task; how many
  std::int64_t part, parts;        ///< steps of K a task, a multiple of kRows; how many
  std::int64_t buffers;            ///< sums that a segment may have: one a thread at its tasks
  std::int64_t x_bytes, sums;      ///< packed X; elements of all segments' sums, once
  /// Where lines are asked for, and how many columns before they are loaded: in all rows of a
  /// visit of floats as many as a core's L2 can wait for (a Xeon with AMX gains 18 % in int8 at
  /// M = 1); an L1 of 32 KB does not keep so many. NOTES.md, "How far ahead a visit asks".
  Reading reading;
  Asking asking;
  std::int64_t ahead, again;  ///< columns before; once more, of kTwice
  bool into_l2;               ///< what is asked for first, and the second time into L1

  static SkinnyLayout of(const Plan& plan) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 512 << 10;
    SkinnyLayout l{.s = s, .rows = s.m * kParts};
    const std::int64_t y_bytes = s.k * std::int64_t{sizeof(Y)},
                       z_bytes = l.rows * std::int64_t{sizeof(Kept)};
    // Adding up the threads' sums may cost a fifth of reading Y at most: so many may share a
    // column, those aside who take what others have left. If fewer share, rows are read in shorter
    // runs. NOTES.md, "Segments and sharing".
    const std::int64_t sharing = lesser(plan.threads, greater(1, y_bytes / (10 * z_bytes)));
    // A segment: its sums within a quarter of L2, and tasks for all threads.
    const std::int64_t most = greater(kNr, l2 / 4 / z_bytes / kNr * kNr);
    const std::int64_t least = sharing < plan.threads ? blocks_of(2 * plan.threads, sharing) : 1;
    l.segments = greater(blocks_of(s.n, most), lesser(least, blocks_of(s.n, kNr)));
    l.segment = round_up(blocks_of(s.n, l.segments), kNr);
    l.segments = blocks_of(s.n, l.segment);
    // A task: 32 to 256 KB of Y, 16 a thread, for the last ones to end together.
    const std::int64_t task_bytes =
        lesser(256 << 10, greater(32 << 10, y_bytes * s.n / 16 / plan.threads));
    const std::int64_t wanted = plan.threads > 1 ? blocks_of(y_bytes * l.segment, task_bytes) : 1;
    l.part = round_up(blocks_of(s.k, wanted), kRows);
    l.parts = blocks_of(s.k, l.part);
    l.buffers = lesser(plan.threads, l.parts);
    l.x_bytes = round_up(round_up(s.k, kRows) * l.rows * std::int64_t{sizeof(Xp)}, 4096);
    l.sums = round_up(l.rows * l.segment * l.segments, 4096 / std::int64_t{sizeof(Kept)});
    l.reading = reading_of(plan.caches);
    const bool long_row = sizeof(Y) == 1 ? s.n > kShortRow : l.segment * z_bytes > plan.caches.l1d;
    l.asking = l.way(long_row);
    const bool wide = l.reading == Reading::in_order && sizeof(Y) >= 4,
               by_l2 = l.reading == Reading::streams && l.asking == Asking::kTwice;
    const std::int64_t bytes = l.reading == Reading::into_l2 ? 2048
                               : by_l2                       ? 1536
                               : wide                        ? 1024
                                                             : 512;
    l.ahead = bytes / std::int64_t{sizeof(Y)};
    l.again = by_l2 ? l.ahead * 2 / 3 : l.ahead / 4;
    l.into_l2 = by_l2 || l.reading == Reading::into_l2;
    return l;
  }

  /// Steps of K for which sums are loaded and stored once.
  std::int64_t steps_at_once() const {
    if (asking == Asking::kRowByRow) return kShort * E::kGroup;
    if (asking == Asking::kRowsByRow) return kLong * E::kGroup;
    return asking == Asking::kInFours ? kFour : kRows;
  }

  static Tiles tiles(const Plan& plan, bool) {
    const SkinnyLayout l = of(plan);
    const std::int64_t steps = l.steps_at_once();
    return {.l1 = {l.s.m, kNr, steps},
            .l2 = {l.s.m, l.segment, steps},
            .l3 = {l.s.m, l.segment, blocks_of(l.s.k, l.buffers)},
            .x_packed = kParts * int{sizeof(Xp)}};
  }

 private:
  /// Bytes of many rows in order: those of a visit, some KB apart, share a set of L1. Twice where
  /// requests that find no room are dropped, and, of few rows, where those into L1 wait for few
  /// lines at a time and those into L2 for more (Emerald Rapids, one row of fp32 and fp64: 1.05
  /// times as fast). NOTES.md, "Ways of asking" and "Into L2, then into L1".
  Asking way(bool long_row) const {
    const bool one_set = s.n % kOneSet == 0 && sizeof(Y) == 1 && reading == Reading::into_l2;
    if (kByLines && reading == Reading::in_order && rows == 1) return Asking::kInFours;
    if (kByLines && reading == Reading::into_l2 && rows == 1) return Asking::kInEights;
    if (kRowByRow && (reading == Reading::in_order || one_set) && rows == 1)
      return long_row ? Asking::kRowsByRow : Asking::kRowByRow;
    if (reading == Reading::in_order) return rows <= 4 ? Asking::kTwice : Asking::kAhead;
    constexpr bool kWhole = sizeof(typename E::V) == 64;
    if (reading == Reading::streams) {
      if (sizeof(Y) == 1 && kWhole && rows >= 16) return Asking::kInOrder;
      return rows <= (sizeof(Y) >= 4 ? 4 : 2) ? Asking::kTwice : Asking::kAhead;
    }
    const std::int64_t enough = sizeof(Y) == 1 ? 2 : 4 * std::int64_t{sizeof(Y)};
    return kWhole && rows >= enough ? Asking::kInOrder : Asking::kAhead;
  }
};

}  // namespace
}  // namespace kernels::matmul
