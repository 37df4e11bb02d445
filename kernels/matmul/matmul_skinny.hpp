// The matmul of few rows, written once over an engine (matmul_engine.hpp).
//
// Y is read once, where it lies, in the order of memory; it is never packed. A task is a segment of
// columns over a part of K. A thread adds up all of its tasks of a segment in one M x segment
// buffer in cache, kDepth groups of K a visit: kDepth rows of Y are that many sequential streams
// for the prefetcher, and each loaded vector of Y is used for all M rows. The threads' sums are
// added up at the end, in an order that may differ from call to call, as threads share the tasks
// (shares.hpp).
#pragma once

#include <omp.h>

#include "kernels/matmul/matmul_engine.hpp"
#include "kernels/shares.hpp"
#include "kernels/simd/ahead.hpp"

namespace kernels::matmul {
namespace {

template <class E>
struct Skinny {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Xp = typename E::Xp;
  /// Sums of int32 may wrap on the way.
  using Sum = std::conditional_t<std::is_integral_v<Z>, std::uint32_t, Z>;
  static constexpr std::int64_t kNr = E::kVectors * E::kLanes;
  /// What the engine adds to every value of Y.
  static constexpr int kOffset = [] {
    if constexpr (requires { E::kOffset; }) return E::kOffset;
    return 0;
  }();
  /// Groups a visit: Y in 8 to 12 registers, 16 of 32. On a Xeon with AMX 3, 4 or 8 in place of 6:
  /// no faster at M = 1; 12: 5 % faster at M = 8, 8 % slower at M = 1. On Zen 4 8 in place of 6: 4
  /// % (four cores, fp32) to 8 % (one core, fp64) faster at M = 1, at M = 8 as fast and 3 % slower;
  /// 10 or 12: slower. Two visits of a strip one after the other, whose sums then stay in L1: 2 to
  /// 12 % slower at M = 8 and 32.
  static constexpr int kDepth = E::kGroup > 1 ? 4 : sizeof(typename E::V) == 64 ? 8 : 6;
  static constexpr std::int64_t kRows = kDepth * E::kGroup;
  static constexpr std::int64_t kLine = 64;

  struct Layout {
    Shape s;
    std::int64_t segment, segments;  ///< columns a task; how many
    std::int64_t part, parts;        ///< steps of K a task, a multiple of kRows; how many
    std::int64_t buffers;            ///< sums that a segment may have: one a thread at its tasks
    std::int64_t x_bytes, sums;      ///< packed X; elements of all segments' sums, once
    /// Where lines are asked for, and how many columns before they are loaded. By 512 bytes into
    /// L1, in all rows of a visit 48 to 64 lines, as many as a core's L2 can wait for, a Xeon with
    /// AMX gains 10 % in fp32 to 18 % in int8 at M = 1; by a whole visit 5 to 8 %, by 256 or 1024
    /// bytes, with fewer rows or smaller tasks less. An L1 of 32 KB does not keep so many: four
    /// cores of Zen 4 are 1 % (fp32), 11 % (bf16) and 19 % (int8) faster at M = 1 by 2048 bytes
    /// into L2, and 16, 6 and 7 % at M = 8; by 1024 less, by 3072 or 4096 no faster.
    bool into_l2;
    std::int64_t ahead;
  };

  /// Who adds up where.
  struct Books {
    Share* shares;        ///< [threads]
    std::int64_t* taken;  ///< [segments]: sums that have been begun
    std::int64_t* mine;   ///< [threads][segments]: which of them is a thread's; -1: none yet
    Sum* offsets;  ///< [parts][M]: what is too much in each row's sums; if there is an offset

    static constexpr std::int64_t bytes(std::int64_t threads, const Layout& l) {
      return threads * std::int64_t{sizeof(Share)} +
             (threads + 1) * l.segments * std::int64_t{sizeof(std::int64_t)} +
             (kOffset != 0 ? l.parts * l.s.m * std::int64_t{sizeof(Sum)} : 0);
    }
    Books(std::byte* space, int threads, const Layout& l)
        : shares(reinterpret_cast<Share*>(space)),
          taken(reinterpret_cast<std::int64_t*>(shares + threads)),
          mine(taken + l.segments),
          offsets(reinterpret_cast<Sum*>(mine + threads * l.segments)) {
      clear(shares, threads);
      for (std::int64_t i = 0; i < l.segments; ++i) taken[i] = 0;
      for (std::int64_t i = 0; i < threads * l.segments; ++i) mine[i] = -1;
    }
  };

  static Layout layout(const Plan& plan) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 512 << 10;
    Layout l{.s = s};
    const std::int64_t y_bytes = s.k * std::int64_t{sizeof(Y)},
                       z_bytes = s.m * std::int64_t{sizeof(Z)};
    // Adding up the threads' sums may cost a fifth of reading Y at most: so many may share a
    // column, those aside who take what others have left.
    const std::int64_t sharing = lesser(plan.threads, greater(1, y_bytes / (10 * z_bytes)));
    // A segment: its sums within a quarter of L2, and tasks for all threads. One page of Y each was
    // tried: 14 to 17 % slower at M = 1 in fp32 and bf16.
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
    l.x_bytes = round_up(round_up(s.k, kRows) * s.m * std::int64_t{sizeof(Xp)}, 4096);
    l.sums = round_up(s.m * l.segment * l.segments, 4096 / std::int64_t{sizeof(Z)});
    l.into_l2 = plan.caches.l1d <= 32 << 10;
    l.ahead = (l.into_l2 ? 2048 : 512) / std::int64_t{sizeof(Y)};
    return l;
  }

  static std::int64_t workspace_bytes(const Plan& plan) {
    const Layout l = layout(plan);
    return l.x_bytes + l.buffers * l.sums * std::int64_t{sizeof(Z)} + Books::bytes(plan.threads, l);
  }

  static Tiles tiles(const Plan& plan, bool) {
    const Layout l = layout(plan);
    return {.l1 = {l.s.m, kNr, kRows},
            .l2 = {l.s.m, l.segment, kRows},
            .l3 = {l.s.m, l.segment, blocks_of(l.s.k, l.buffers)},
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

  static void sum_offsets(const Layout& l, const X* x, std::int64_t begin, std::int64_t end,
                          Sum* offsets) noexcept {
    for (std::int64_t m = 0; m < l.s.m; ++m) {
      Z sum = 0;
      for (std::int64_t k = begin; k < end; ++k) sum += static_cast<Z>(x[m * l.s.k + k]);
      offsets[m] = static_cast<Sum>(kOffset) * static_cast<Sum>(sum);
    }
  }

  /// Whether lines are asked for one by one, each with a pause behind. A strip's dozen at once,
  /// into L1, leave fp32 at 41 to 51 GB/s in some runs where this has 55 to 61 (Xeon with AMX);
  /// narrower types and more rows, which have more to do with a line, are 2 to 9 % faster with the
  /// dozen.
  static bool paced(const Layout& l) { return !l.into_l2 && sizeof(Y) >= 4 && l.s.m <= 2; }

  /// Adds `Depth` groups of one strip of nr columns to the sums of all rows. Asks for as many from
  /// `ahead` on if kPaced.
  template <int Depth, bool kPaced>
  [[gnu::always_inline]] static inline void strip(const Layout& l, const Xp* x, const Y* y,
                                                  std::int64_t ldy, const Y* ahead, bool add,
                                                  Z* sums) {
    typename E::W w[Depth][E::kVectors];
#pragma GCC unroll 8
    for (int d = 0; d < Depth; ++d) {
      if constexpr (kPaced) {
#pragma GCC unroll 4
        for (std::int64_t j = 0; j < kNr; j += kLine / std::int64_t{sizeof(Y)})
          ask_for<4>(ahead + d * ldy + j);
      }
      E::load_rows(y + d * E::kGroup * ldy, ldy, w[d]);
      if constexpr (kPaced) {
#pragma GCC unroll 4
        for (auto& v : w[d]) opaque(v);  // or GCC loads all behind the requests
      }
    }
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

  /// Asks for a strip of a visit's rows, once a line. `kLevel` as of __builtin_prefetch().
  template <int kLevel>
  [[gnu::always_inline]] static inline void prefetch(const Y* y, std::int64_t ldy) {
    constexpr std::int64_t kStrip = kNr * std::int64_t{sizeof(Y)};
    for (std::int64_t i = 0; i < kRows; ++i)
      for (std::int64_t at = 0; at < kStrip; at += kLine)
        __builtin_prefetch(reinterpret_cast<const std::byte*>(y + i * ldy) + at, 0, kLevel);
  }

  static void task(const Layout& l, const Xp* x, const Y* y, std::int64_t column,
                   std::int64_t begin, std::int64_t end, bool more, Z* sums) noexcept {
    const std::int64_t width = lesser(l.segment, l.s.n - column), whole = width / kNr * kNr;
    const bool with_pauses = paced(l);
    for (std::int64_t k = begin; k < end; k += kRows) {
      const Xp* xk = x + k * l.s.m;
      const Y* yk = y + k * l.s.n + column;
      // The rows behind a task are mostly the same thread's next ones.
      const bool add = more || k > begin, more_visits = k + 2 * kRows <= l.s.k;
      std::int64_t j = 0;
      if (k + kRows <= l.s.k)
        for (; j < whole; j += kNr) {
          const bool in_visit = j + l.ahead < whole;
          const bool asks = j * std::int64_t{sizeof(Y)} % kLine == 0 && (in_visit || more_visits);
          const Y* const ahead = yk + j + l.ahead + (in_visit ? 0 : kRows * l.s.n - whole);
          if (asks && with_pauses) {
            strip<kDepth, true>(l, xk, yk + j, l.s.n, ahead, add, sums + j * l.s.m);
            continue;
          }
          if (asks && l.into_l2)
            prefetch<2>(ahead, l.s.n);
          else if (asks)
            prefetch<3>(ahead, l.s.n);
          strip<kDepth, false>(l, xk, yk + j, l.s.n, nullptr, add, sums + j * l.s.m);
        }
      // Rows or columns that are missing: a copy padded with zeros.
      for (; j < width; j += kNr) {
        Y edge[kRows * kNr] = {};
        for (std::int64_t i = 0; i < kRows && k + i < l.s.k; ++i)
          for (std::int64_t c = 0; c < kNr && j + c < width; ++c)
            edge[i * kNr + c] = yk[i * l.s.n + j + c];
        strip<kDepth, false>(l, xk, edge, kNr, nullptr, add, sums + j * l.s.m);
      }
    }
  }

  /// Z of one strip of nr columns from what the threads have added up.
  static void add_up(const Layout& l, const Z* sums, std::int64_t buffers, const Sum* offsets,
                     const float* scales, std::int64_t column, Z* z) noexcept {
    const std::int64_t count = lesser(kNr, l.s.n - column);
    for (std::int64_t m = 0; m < l.s.m; ++m) {
      Sum total[kNr] = {}, offset = 0;
      if constexpr (kOffset != 0)
        for (std::int64_t p = 0; p < l.parts; ++p) offset += offsets[p * l.s.m + m];
      for (std::int64_t b = 0; b < buffers; ++b)
        for (std::int64_t j = 0; j < kNr; ++j)
          total[j] += static_cast<Sum>(sums[b * l.sums + m * kNr + j]);
      if (scales != nullptr)
        for (std::int64_t j = 0; j < count; ++j) total[j] *= static_cast<Sum>(scales[column + j]);
      for (std::int64_t j = 0; j < count; ++j)
        z[m * l.s.n + column + j] = static_cast<Z>(total[j] - offset);
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    const Layout l = layout(plan);
    auto* space = static_cast<std::byte*>(plan.workspace);
    Xp* xp = reinterpret_cast<Xp*>(space);
    Z* all_sums = reinterpret_cast<Z*>(space + l.x_bytes);
    const Books books(reinterpret_cast<std::byte*>(all_sums + l.buffers * l.sums), plan.threads, l);
    const std::int64_t tasks = l.parts * l.segments, own_tasks = blocks_of(tasks, plan.threads);
#pragma omp parallel num_threads(plan.threads)
    {
#pragma omp for schedule(static)
      for (std::int64_t p = 0; p < l.parts; ++p) {
        const std::int64_t end = lesser((p + 1) * l.part, l.s.k);
        pack_x(l, x, p * l.part, end, xp);
        if constexpr (kOffset != 0) sum_offsets(l, x, p * l.part, end, books.offsets + p * l.s.m);
      }
      const int thread = omp_get_thread_num();
      std::int64_t* const mine = books.mine + thread * l.segments;
      const auto take = [&](int owner, std::int64_t at) {
        const std::int64_t i = owner * own_tasks + at, segment = i / l.parts, p = i % l.parts;
        if (i >= tasks) return;
        const bool more = mine[segment] >= 0;
        if (!more) mine[segment] = __atomic_fetch_add(&books.taken[segment], 1, __ATOMIC_RELAXED);
        const std::int64_t column = segment * l.segment;
        task(l, xp, y, column, p * l.part, lesser((p + 1) * l.part, l.s.k), more,
             all_sums + mine[segment] * l.sums + column * l.s.m);
      };
      take_pieces(books.shares, plan.threads, thread, own_tasks, take);
#pragma omp barrier
#pragma omp for schedule(static)
      for (std::int64_t strip = 0; strip < blocks_of(l.s.n, kNr); ++strip) {
        const std::int64_t column = strip * kNr;
        add_up(l, all_sums + column * l.s.m, books.taken[column / l.segment], books.offsets, scales,
               column, z);
      }
    }
  }

  static constexpr Routine<X, Y, Z> routine() {
    return {.run = run, .workspace_bytes = workspace_bytes, .tiles = tiles};
  }
};

}  // namespace
}  // namespace kernels::matmul
