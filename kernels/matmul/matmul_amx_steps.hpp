// Sources of steps of Y for the matmul on AMX tiles (matmul_amx.hpp): where the next one lies, and
// what is asked for meanwhile.
#pragma once

#include <cstddef>

#include "kernels/matmul/matmul_amx_engines.hpp"
#include "kernels/simd/ahead.hpp"

namespace kernels::matmul {
namespace {

/// kAhead where more than 32 rows leave DRAM idle at times: four pages side by side, for each of
/// which the hardware fetches ahead by itself, from the page after the one at hand on: 46 GB/s at M
/// = 64 in place of 38 by one. NOTES.md, "AMX: how far ahead".
constexpr int kPages = 4, kPageBytes = 4096, kPagesAhead = (kPages + 1) * kPageBytes;

/// Steps of Y where they lie, one after the other. Like every source of steps it is told four times
/// a step to ask for what comes later, if it does.
struct InOrder {
  const std::byte* at;

  const std::byte* next() {
    at += kStepBytes;
    return at - kStepBytes;
  }
  void ask() {}
};

/// Asks for `quarter` lines each time, from `ahead` on, with kPause empty instructions a line:
/// faster, they fill what L1 has for misses, and tiles that L2 holds wait. NOTES.md, "AMX: how far
/// ahead".
template <int kPause>
struct Paced : InOrder {
  const std::byte* ahead;
  std::int64_t quarter;

  void ask() {
    for (std::int64_t i = 0; i < quarter; ++i, ahead += 64) ask_for<kPause>(ahead);
  }
};

/// Asks for a panel in four streams side by side, `apart` bytes from one to the next and `lines`
/// lines a step of each, as the hardware follows each, and for x_lines lines of X.
struct Streams : InOrder {
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
struct Paged : InOrder {
  static constexpr int kAsks = kStepLines / kPages;  ///< a step's, of all blocks of rows
  const std::byte* ahead;
  std::int64_t done, share, due = 0;

  /// For a block of rows out of `blocks` that takes `steps` steps `from + skip` on; it asks after
  /// the blocks before.
  Paged(const std::byte* from, std::int64_t skip, std::int64_t steps, std::int64_t block,
        std::int64_t blocks)
      : InOrder{from + skip * kStepBytes} {
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

}  // namespace
}  // namespace kernels::matmul
