// Matmul on AMX tiles, written once over an engine: see matmul_amx_tiled.cpp.
#pragma once

#include <omp.h>

#include <cstddef>
#include <cstring>

#include "kernels/matmul/matmul_amx_layout.hpp"
#include "kernels/matmul/matmul_amx_steps.hpp"
#include "kernels/simd/silu.hpp"

namespace kernels::matmul {
namespace {

/// Groups of rows by which packing asks ahead, 8 to 32 are alike.
constexpr std::int64_t kGroupsAhead = 16;

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
/// another core has read waits for it (M = 64, cold: from 41 to 48 GB/s). NOTES.md, "AMX: sums past
/// the caches".
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

template <class E>
struct Tiled {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Panel = typename E::Yp;
  using Held = typename E::Held;
  using Layout = TiledLayout<E>;
  static constexpr std::int64_t kStep = Layout::kStep, kStepElements = Layout::kStepElements,
                                kPanel = Layout::kPanel, kSums = Layout::kSums;
  static constexpr bool kWidens = !std::is_same_v<Panel, Held>;

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
  /// row's columns side by side faster than 64 bytes of each row (cold M = 32, two cores: 7.0 to
  /// 10.1 GB/s), and with rows ahead asked for. NOTES.md, "AMX: packing plain weights".
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
          const X* const rows_of_x = x + l.x_place(at, row);
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
        InOrder in_order{reinterpret_cast<const std::byte*>(made)};
        add(in_order);
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
    source.x = reinterpret_cast<const std::byte*>(part.packed_x + l.piece_place(part.m, later)) +
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
          add_steps<tall, true>(l.steps(depth), part.packed_x + l.piece_place(row, depth), kStep,
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
    const Layout l = Layout::of(plan, held != nullptr);
#pragma omp parallel num_threads(plan.threads)
    {
      Amx::configure();
      X* const packed_x = l.packs_x ? static_cast<X*>(plan.workspace) : nullptr;
      if (packed_x != nullptr) {
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < l.s.m; row += kSide)
          for (std::int64_t step = 0; step < l.all_steps; ++step)
            pack_x(l, step, lesser(kSide, l.s.m - row), x + row * l.s.k,
                   packed_x + l.piece_place(row, step / kDepth) + step % kDepth * kSide * kStep);
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
    return reinterpret_cast<Panel*>(static_cast<std::byte*>(plan.workspace) + l.sums_bytes() +
                                    l.all_x_bytes() +
                                    omp_get_thread_num() * (l.own_bytes() + l.x_bytes()));
  }

  /// Few rows, of weights packed before. All threads call `prepare()`; then, for each its own X,
  /// `pack(l, at, steps, out)`, which brings these steps of a piece to their places from `out` on;
  /// `put(i, sums)` takes the sums of all rows, kSide apart, and the i-th kTogether panels, kSums
  /// apart.
  template <int kTogether, class Prepare, class Pack, class Put>
  static void stream(const Plan& plan, const Held* held, Prepare prepare, Pack pack, Put put) {
    const Layout l = Layout::of(plan, true);
    Z* const kept = static_cast<Z*>(plan.workspace);
    const std::int64_t all = l.columns / kTogether, dealt = all / 2;
#pragma omp parallel num_threads(plan.threads)
    {
      alignas(64) Z own[kTogether * kSums];
      Panel* const panels = own_of(plan, l);
      X* const own_x = reinterpret_cast<X*>(reinterpret_cast<std::byte*>(panels) + l.own_bytes());
      const std::int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
      const std::int64_t begin = dealt * thread / threads, end = dealt * (thread + 1) / threads;
      prepare();
      Amx::configure(lesser(kSide, l.few_rows));
      for (std::int64_t first = 0; first < l.all_steps; first += l.few_pass) {
        const std::int64_t last = lesser(l.all_steps, first + l.few_pass);
        X* const x = own_x - l.x_place(first, 0);
        const std::int64_t chunk = lesser(kDepth, l.piece());
        for (std::int64_t at = first; at < last; at += chunk)
          pack(l, at, lesser(chunk, last - at), x);
        const auto one = [&](std::int64_t i) {
          Z* const sums = l.sums_bytes() == 0 ? own : kept + i * kTogether * kSums;
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
    const Layout l = Layout::of(plan, true);
    return l.columns * l.all_steps * kStepElements * std::int64_t{sizeof(Held)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Layout l = Layout::of(plan, true);
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
        X* to = out + l.x_place(at, r);
        for (std::int64_t i = at; i < at + steps; ++i, to += l.x_step(r)) {
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
                          .workspace_bytes = Layout::workspace_bytes,
                          .tiles = Layout::tiles};
    if constexpr (std::is_same_v<Z, float>) {
      r.run_gated = run_gated;
      r.gated_rows = kFewRows;
    }
    return r;
  }
};

}  // namespace
}  // namespace kernels::matmul
