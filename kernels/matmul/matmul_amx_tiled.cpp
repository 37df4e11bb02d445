// Idea: AMX. 2 x 2 tiles of sums take two tiles of X, read from where X lies, and two of Y from
// panels of 32 columns: 4 loads for 4 products. A task holds its columns of Y, packed or widened as
// they are first used, in L2 and takes blocks of rows of X past them.
// Bound: a tile product every 16 cycles, 1024 FLOP a cycle in bf16 and 2048 OP in int8; X and Z
// from L3, as so many products leave little time for them.
// Gains over avx512_bf16_packed and avx512_vnni_packed: 16 and 8 times the products a cycle.
// Tried and left: X packed by each task, so that its tiles load twice as fast, and sums kept in L2
// until a block of rows is done: 0.85 of the speed, as packing waits for L3 and products do not.
#include <omp.h>

#include <cstddef>
#include <cstring>

#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/simd/amx.hpp"

namespace kernels::matmul {
namespace {

constexpr int kSide = 32, kHalf = Amx::kRows;    ///< columns of a panel and most rows; of a tile
constexpr int kGroupBytes = 2 * Amx::kRowBytes;  ///< what one sum takes of K, for all columns
constexpr int kStepBytes = kHalf * kGroupBytes;  ///< 64 bytes of K, for all columns
constexpr int kDepth = 16;                       ///< steps of a panel: 32 KB, to stay in L1

/// Adds rows of `sums`, kSide apart, times scales where given, to Z or replaces it.
template <class Z>
void put_rows(const Z* sums, Z* z, std::int64_t ldz, std::int64_t rows, std::int64_t width,
              bool accumulate, const float* scales) {
  for (std::int64_t r = 0; r < rows; ++r, sums += kSide, z += ldz)
    for (std::int64_t j = 0; j < width; ++j) {
      Z sum = sums[j];
      if constexpr (std::is_same_v<Z, float>) sum *= scales != nullptr ? scales[j] : 1.0f;
      z[j] = accumulate ? z[j] + sum : sum;
    }
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
  /// Whole numbers up to 128 have the same upper half in fp32 and nothing in the lower.
  static void widen(const Held* held, Yp* out, std::int64_t steps) {
    // Bytes. 16 KB: 6 to 12 % slower at M = 1 to 32, cold; half of the lines asked for during the
    // products: no gain.
    constexpr int kAhead = 4096;
    const auto floats = [](const Held* p) { return _mm512_castps_si512(Avx512::F32::load(p)); };
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    for (std::int64_t g = 0; g < steps * kHalf; ++g, held += 2 * kSide) {
      __builtin_prefetch(held + kAhead, 0, 2);
      for (int half = 0; half < kSide; half += kHalf, out += 2 * kHalf)
        _mm512_storeu_si512(out,
                            _mm512_or_si512(_mm512_srli_epi32(floats(held + half), 16),
                                            _mm512_and_si512(floats(held + kSide + half), upper)));
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

/// Lines of the panel that is needed next, `lines` a step.
struct Next {
  const std::byte* at = nullptr;
  std::int64_t lines = 0;
};

template <class E>
struct Tiled {
  using X = typename E::X;
  using Y = typename E::Y;
  using Z = typename E::Z;
  using Panel = typename E::Yp;
  using Held = typename E::Held;
  static constexpr std::int64_t kStep = Amx::kRowBytes / sizeof(X);  ///< of K
  static constexpr std::int64_t kPanel = kDepth * kStepBytes / sizeof(Panel);
  static constexpr std::int64_t kRowsAtATime = 3 * kSide;
  static constexpr bool kWidens = !std::is_same_v<Panel, Held>;

  /// What follows from shape, caches and threads. A panel is 32 columns by kDepth steps of K.
  struct Layout {
    Shape s;
    std::int64_t columns, depths;  ///< panels across and down Y
    std::int64_t nc, pass;         ///< a task's panels across, and down at a time
    std::int64_t row_tasks, column_tasks;

    std::int64_t row(std::int64_t task) const {
      return lesser(s.m, task * round_up(blocks_of(s.m, row_tasks), kSide));
    }
    std::int64_t column(std::int64_t task) const { return task * columns / column_tasks; }
    std::int64_t steps(std::int64_t depth) const {
      return lesser(kDepth, blocks_of(s.k, kStep) - depth * kDepth);
    }
  };

  static Layout layout(const Plan& plan) {
    const Shape& s = plan.shape;
    const std::int64_t l2 = plan.caches.l2 > 0 ? plan.caches.l2 : 2 << 20;
    constexpr std::int64_t kPanelBytes = kDepth * kStepBytes;
    Layout l{.s = s};
    l.columns = blocks_of(s.n, kSide);
    l.depths = blocks_of(s.k, kStep * kDepth);
    // Half of L2 for Y. Eight times as deep as wide: a pass reads X in 2 bytes, and reads and
    // writes Z in 8, for as many columns as a panel has steps of K.
    l.pass = lesser(l.depths, greater(1, l2 / 2 / kPanelBytes / 8));
    const std::int64_t nc_most = greater(1, l2 / 2 / (kPanelBytes * l.pass));
    l.column_tasks = lesser(l.columns, round_up(blocks_of(l.columns, nc_most), plan.threads));
    l.nc = blocks_of(l.columns, l.column_tasks);
    l.row_tasks = lesser(blocks_of(s.m, kSide), blocks_of(plan.threads, l.column_tasks));
    return l;
  }

  static std::int64_t own_bytes(const Layout& l) {
    return l.nc * l.pass * kPanel * std::int64_t{sizeof(Panel)};
  }
  static std::int64_t workspace_bytes(const Plan& plan) {
    return plan.threads * own_bytes(layout(plan));
  }
  static Tiles tiles(const Plan& plan, bool prepacked) {
    const Layout l = layout(plan);
    return {.l1 = {kSide, kSide, kDepth * kStep},
            .l2 = {kRowsAtATime, kSide, kDepth * kStep},
            .l3 = {l.row(1), l.nc * kSide, l.pass * kDepth * kStep},
            .y_packed = prepacked ? int{sizeof(Held)} : int{sizeof(Panel)},
            .y_prepacked = prepacked};
  }

  /// Packs a panel by `one(y, ldy, out)`, which takes kGroup rows of 32 columns to `group`
  /// elements.
  template <class Out, class One>
  static void pack_panel(const Layout& l, const Y* y, std::int64_t p, std::int64_t depth, Out* out,
                         std::int64_t group, One one) {
    const std::int64_t column = p * kSide, width = lesser(kSide, l.s.n - column);
    const std::int64_t first = depth * kDepth * kStep;
    for (std::int64_t k = first; k < first + l.steps(depth) * kStep; k += E::kGroup, out += group) {
      const Y* from = y + k * l.s.n + column;
      if (width == kSide && k + E::kGroup <= l.s.k) {
        one(from, l.s.n, out);
      } else {
        Y edge[E::kGroup * kSide] = {};
        for (std::int64_t i = 0; i < E::kGroup && k + i < l.s.k; ++i)
          for (std::int64_t j = 0; j < width; ++j) edge[i * kSide + j] = from[i * l.s.n + j];
        one(edge, kSide, out);
      }
    }
  }
  static void pack_panel(const Layout& l, const Y* y, std::int64_t p, std::int64_t depth,
                         Panel* out) {
    pack_panel(l, y, p, depth, out, kGroupBytes / sizeof(Panel),
               [](const Y* from, std::int64_t ldy, Panel* to) { E::pack_y(from, ldy, to, to); });
  }
  static void hold_panel(const Layout& l, const Y* y, std::int64_t p, std::int64_t depth,
                         Held* out) {
    if constexpr (kWidens)
      pack_panel(l, y, p, depth, out, kGroupBytes / sizeof(Panel), E::hold);
    else
      pack_panel(l, y, p, depth, out);
  }

  /// Adds `steps` steps to the sums in tiles 0 and 1, and 2 and 3 below them if kTall. Each asks
  /// for two rows of Z.
  template <bool kTall>
  static void add_steps(std::int64_t steps, const X* x, std::int64_t ldx, const Panel* panel,
                        const Z* z, std::int64_t ldz, Next& next) {
    const std::int64_t row_bytes = ldx * std::int64_t{sizeof(X)};
    const auto* y = reinterpret_cast<const std::byte*>(panel);
    for (; steps > 0; --steps, x += kStep, y += kStepBytes) {
      _tile_loadd(4, y, kGroupBytes);
      _tile_loadd(6, x, row_bytes);
      E::product_04();
      _tile_loadd(5, y + Amx::kRowBytes, kGroupBytes);
      E::product_15();
      if constexpr (kTall) {
        _tile_loadd(7, x + kHalf * ldx, row_bytes);
        E::product_24();
        E::product_35();
        for (int r = 0; r < 2; ++r, z += ldz) {
          __builtin_prefetch(z, 1);
          __builtin_prefetch(z + kHalf, 1);
        }
      }
      for (std::int64_t i = 0; i < next.lines; ++i, next.at += 64)
        __builtin_prefetch(next.at, 0, 2);
    }
  }

  /// Products of one panel, `depth` panels down Y, with up to 32 rows; `x` and `z` are at the
  /// first.
  template <bool kTall>
  static void tile(const Layout& l, std::int64_t depth, std::int64_t rows, std::int64_t width,
                   const X* x, const Panel* panel, const float* scales, Z* z, Next& next) {
    const std::int64_t ldz = l.s.n, first = depth * kDepth * kStep;
    const bool accumulate = depth > 0, in_place = width == kSide && scales == nullptr;
    const std::int64_t z_row_bytes = ldz * std::int64_t{sizeof(Z)};
    if (in_place && accumulate) {
      _tile_loadd(0, z, z_row_bytes);
      _tile_loadd(1, z + kHalf, z_row_bytes);
      if constexpr (kTall) {
        _tile_loadd(2, z + kHalf * ldz, z_row_bytes);
        _tile_loadd(3, z + kHalf * ldz + kHalf, z_row_bytes);
      }
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    const std::int64_t whole = lesser(kDepth, (l.s.k - first) / kStep);
    add_steps<kTall>(whole, x + first, l.s.k, panel, z, ldz, next);
    if (whole < l.steps(depth)) {
      // The end of K: rows of X go on with what is no part of the product.
      const X* from = x + first + whole * kStep;
      alignas(64) X edge[kSide * kStep] = {};
      for (std::int64_t r = 0; r < rows; ++r)
        std::memcpy(edge + r * kStep, from + r * l.s.k,
                    static_cast<std::size_t>(l.s.k - first - whole * kStep) * sizeof(X));
      Amx::memory_fence();
      add_steps<kTall>(1, edge, kStep, panel + whole * (kStepBytes / sizeof(Panel)), z, ldz, next);
    }

    alignas(64) Z sums[kSide * kSide];
    Z* const to = in_place ? z : sums;
    const std::int64_t ld = in_place ? ldz : kSide, row_bytes = ld * std::int64_t{sizeof(Z)};
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + kHalf, row_bytes);
    if constexpr (kTall) {
      _tile_stored(2, to + kHalf * ld, row_bytes);
      _tile_stored(3, to + kHalf * ld + kHalf, row_bytes);
    }
    Amx::memory_fence();
    if (!in_place) put_rows(sums, z, ldz, rows, width, accumulate, scales);
  }

  /// One pass over K for a task's rows and columns of Z. `own` are its panels, packed or widened.
  static void task(const Layout& l, std::int64_t pass, std::int64_t m_begin, std::int64_t m_end,
                   std::int64_t p_begin, std::int64_t p_end, const X* x, const Y* y,
                   const Held* held, const float* scales, Z* z, Panel* own) {
    std::int64_t configured = kSide;
    const bool once = m_end - m_begin <= kRowsAtATime;  // then one panel's place does, in L1
    for (std::int64_t m = m_begin; m < m_end; m += kRowsAtATime)
      for (std::int64_t d = pass; d < lesser(pass + l.pass, l.depths); ++d)
        for (std::int64_t p = p_begin; p < p_end; ++p) {
          const Held* from = held == nullptr ? nullptr : held + (d * l.columns + p) * kPanel;
          Panel* slot = own + (once ? 0 : ((d - pass) * l.nc + p - p_begin) * kPanel);
          const Panel* panel = slot;
          Next next;
          if (from == nullptr) {
            if (m == m_begin) pack_panel(l, y, p, d, slot);
          } else if constexpr (kWidens) {
            if (m == m_begin) E::widen(from, slot, l.steps(d));
          } else {
            panel = from;
            if (m == m_begin)
              next = {
                  reinterpret_cast<const std::byte*>(from + kPanel),
                  blocks_of(kStepBytes / 64, blocks_of(lesser(kRowsAtATime, m_end - m), kSide))};
          }
          Amx::memory_fence();
          const std::int64_t column = p * kSide, width = lesser(kSide, l.s.n - column);
          const float* with = scales != nullptr ? scales + column : nullptr;
          for (std::int64_t row = m; row < lesser(m + kRowsAtATime, m_end); row += kSide) {
            const std::int64_t rows = lesser(kSide, m_end - row);
            if (rows != configured) Amx::configure(rows);
            configured = rows;
            const X* xs = x + row * l.s.k;
            Z* zs = z + row * l.s.n + column;
            if (rows > kHalf)
              tile<true>(l, d, rows, width, xs, panel, with, zs, next);
            else
              tile<false>(l, d, rows, width, xs, panel, with, zs, next);
          }
        }
    if (configured != kSide) Amx::configure(kSide);
  }

  static void multiply(const Plan& plan, const X* x, const Y* y, const Held* held,
                       const float* scales, Z* z) {
    const Layout l = layout(plan);
#pragma omp parallel num_threads(plan.threads)
    {
      auto* const own = reinterpret_cast<Panel*>(static_cast<std::byte*>(plan.workspace) +
                                                 omp_get_thread_num() * own_bytes(l));
      Amx::configure(kSide);
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t i = 0; i < l.row_tasks * l.column_tasks; ++i) {
        const std::int64_t r = i % l.row_tasks, c = i / l.row_tasks;
        for (std::int64_t pass = 0; pass < l.depths; pass += l.pass)
          task(l, pass, l.row(r), l.row(r + 1), l.column(c), l.column(c + 1), x, y, held, scales, z,
               own);
      }
      Amx::leave();
    }
  }

  static void run(const Plan& plan, const X* x, const Y* y, const float* scales, Z* z) {
    multiply(plan, x, y, nullptr, scales, z);
  }
  static std::int64_t packed_bytes(const Plan& plan) {
    const Layout l = layout(plan);
    return l.depths * l.columns * kPanel * std::int64_t{sizeof(Held)};
  }
  static void pack(const Plan& plan, const Y* y, const float*, void* packed) {
    const Layout l = layout(plan);
#pragma omp parallel for num_threads(plan.threads) schedule(dynamic)
    for (std::int64_t i = 0; i < l.depths * l.columns; ++i)
      hold_panel(l, y, i % l.columns, i / l.columns, static_cast<Held*>(packed) + i * kPanel);
  }
  static void run_packed(const Plan& plan, const X* x, const void* packed, const float* scales,
                         Z* z) {
    multiply(plan, x, nullptr, static_cast<const Held*>(packed), scales, z);
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

extern const Kernel amx_tiled = {.exec_unit = Amx::kUnit,
                                 .bf16_f32 = Tiled<Bf16Tiles<bf16>>::routine(),
                                 .s8_s32 = Tiled<Int8Signed>::routine(),
                                 .u8_s8 = Tiled<Int8Unsigned>::routine(),
                                 .bf16_s8 = Tiled<Bf16Int8Tiles>::routine(),
                                 .bf16_roof = "bf16",
                                 .bf16_s8_roof = "bf16"};

}  // namespace kernels::matmul
