// matmul: Z[M,N] = X[M,K] . Y[K,N], all row major; Y are the weights. With batch B there are B
// products, each with matrices of its own: X[B,M,K], Y[B,K,N], Z[B,M,N].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/dtype.hpp"
#include "kernels/op.hpp"

namespace kernels::matmul {

struct Shape {
  std::int64_t m, n, k;
  std::int64_t batch = 1;  ///< a variant sees 1 and is called once for each
};

/// Element sizes of one dtype, bytes; `scale` per output column (fp32 where Y is quantised).
struct ElementBytes {
  int x, y, z, scale = 0;
};

/// One level's tile of Z and the depth of K that it is summed over, elements; 0: not tiled for it.
struct Tile {
  std::int64_t m = 0, n = 0, k = 0;
};

/// The tiles that a variant uses on one shape. `l1` is the register tile: what the core loads and
/// stores follows from it. `l2` is the tile for which L1 keeps its operand, so that it sets what L1
/// fetches from L2, and `l3` likewise for L2. `*_packed` are the element sizes inside the packed
/// panels; 0: the operand is read where it lies.
struct Tiles {
  Tile l1, l2, l3;
  int x_packed = 0, y_packed = 0;
  std::int64_t x_packs = 1, y_packs = 1;  ///< how often all of it is packed: parts may do it each
  /// What is packed of an operand stays in L2: from beyond comes the source alone.
  bool x_stays = false, y_stays = false;
  bool y_in_l1 = false;  ///< a panel of Y is used up before the next: to L2 goes the source alone
  bool z_moved = false;  ///< Z is added up elsewhere within L2, and goes to its place at the end
  bool y_prepacked = false;  ///< the panels of Y are made before the call
};

/// What a variant knows of one bound case. Made once, before anything is timed.
struct Plan {
  Shape shape;
  int threads = 1;
  Caches caches;
  void* workspace = nullptr;  ///< workspace_bytes() of it, on a 4 KiB boundary, kept between calls
  void* state = nullptr;      ///< what open() returned
};

/// Columns of gates, and of what they gate, that lie side by side for run_gated().
inline constexpr std::int64_t kGated = 32;

/// One dtype of a variant: functions over whole matrices with `plan.threads` threads, any size >=
/// 1; `run` is null where the dtype is not done. X and Y are finite. Z is overwritten, never read.
/// `scales` holds one fp32 per output column (bf16xs8), else null.
template <class X, class Y, class Z>
struct Routine {
  void (*run)(const Plan&, const X* x, const Y* y, const float* scales, Z* z) = nullptr;

  /// Weights brought into the variant's own order before the timed call (pack:pre); null where
  /// there is no such way. `packed` is packed_bytes() of memory on a 4 KiB boundary.
  std::int64_t (*packed_bytes)(const Plan&) = nullptr;
  void (*pack)(const Plan&, const Y* y, const float* scales, void* packed) = nullptr;
  void (*run_packed)(const Plan&, const X* x, const void* packed, const float* scales,
                     Z* z) = nullptr;
  /// silu(gate) * up of the columns of run_packed(), in bf16, [M][N / 2]: as they are packed,
  /// kGated gates and the kGated columns of up that go with them take turns. For up to `gated_rows`
  /// rows and whole turns; 0: not done. `out` lies on a 64-byte boundary.
  void (*run_gated)(const Plan&, const X* x, const void* packed, const float* scales,
                    bf16* out) = nullptr;
  std::int64_t gated_rows = 0;

  /// Null: needs none.
  std::int64_t (*workspace_bytes)(const Plan&) = nullptr;
  /// Null: not known, as for a library; then no traffic is modelled above the last cache.
  Tiles (*tiles)(const Plan&, bool packed) = nullptr;
  /// State that outlives a call, such as a library's compiled primitive; null: none.
  std::shared_ptr<void> (*open)(const Plan&, bool packed) = nullptr;
};

struct Kernel {
  const char* exec_unit;  ///< the unit that it issues to
  Routine<double, double, double> f64 = {};
  Routine<float, float, float> f32 = {};
  Routine<bf16, bf16, float> bf16_f32 = {};
  Routine<std::int8_t, std::int8_t, std::int32_t> s8_s32 = {};
  Routine<std::uint8_t, std::int8_t, std::int32_t> u8_s8 = {};
  Routine<bf16, std::int8_t, float> bf16_s8 = {};
  /// dtype of the compute roof: "f32" where bf16 is widened, "bf16" with bf16 instructions,
  /// "bf16xs8" where both bytes of bf16 go in as int8.
  const char* bf16_roof = "f32";
  const char* bf16_s8_roof = "f32";
  /// bf16xs8: how far activations are rounded, as a share of the largest of their row; 0: not at
  /// all.
  double bf16_s8_rounding = 0;
  /// Largest work that is offered for it, FLOP; 0: any. For rungs that would take seconds a call.
  double max_flops = 0;
  /// Largest M, K and elements of Y that are offered for it; 0: any.
  std::int64_t max_m = 0, max_k = 0, max_y = 0;
  /// Further `key=value;` text for the label, e.g. "library=OpenBLAS 0.3.21 Haswell;"; may be null.
  std::string (*label)() = nullptr;
  /// False where only run time tells that it cannot: a library built without a dtype or without
  /// threads, a CPU that it has no kernels for. Or where a call would take seconds, as above. Null:
  /// no such limit.
  bool (*offers)(std::string_view dtype, const Shape&, int threads) = nullptr;
};

/// 2MNK operations a product; every operand once, by its own element size, and the scales.
constexpr Cost cost(const Shape& s, const ElementBytes& e) {
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n),
               k = static_cast<double>(s.k), batch = static_cast<double>(s.batch);
  return {2.0 * m * n * k * batch, batch * (e.x * m * k + e.y * k * n + e.z * m * n + e.scale * n)};
}

namespace detail {
constexpr double ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<double>((a + b - 1) / b);
}

/// One product's bytes across one level: X once for every column of tiles, Y once for every row of
/// tiles, Z written once and read and written again for every further step of K; panels of X and Y
/// as well as their sources if they are `x_packs` and `y_packs`.
constexpr double tile_bytes(const Shape& s, const ElementBytes& e, const Tiles& t, const Tile& tile,
                            bool x_packs, bool y_packs) {
  if (tile.m == 0) return kUnknown;
  const double m = static_cast<double>(s.m), n = static_cast<double>(s.n),
               k = static_cast<double>(s.k);
  const bool x_panels = x_packs && t.x_packed > 0,
             y_panels = (y_packs || t.y_prepacked) && t.y_packed > 0;
  const int x = x_panels ? t.x_packed : e.x, y = y_panels ? t.y_packed : e.y;
  double bytes = x * m * k * ceil_div(s.n, tile.n) + y * k * n * ceil_div(s.m, tile.m) +
                 e.z * m * n * (2 * ceil_div(s.k, tile.k) - 1) + e.scale * n;
  if (x_panels) bytes += (e.x + t.x_packed) * m * k * static_cast<double>(t.x_packs);
  if (y_panels && !t.y_prepacked)
    bytes += (e.y + t.y_packed) * k * n * static_cast<double>(t.y_packs);
  return bytes;
}
}  // namespace detail

/// Bytes across each level by the tiles (and by packing: source read, panel written), were every
/// level needed; `dram` is what is compulsory. Write-allocate is not counted. The tiled formula:
/// Z tiles m x n, tm tn (tk (e_x m k + e_y k n) + e_z m n), Z also read where K is split.
constexpr LevelBytes tile_traffic(const Shape& s, const ElementBytes& e, const Tiles& t) {
  const double batch = static_cast<double>(s.batch);
  const double moved =
      t.z_moved ? 2.0 * e.z * static_cast<double>(s.m) * static_cast<double>(s.n) : 0;
  return {batch * (detail::tile_bytes(s, e, t, t.l1, true, true) + moved),
          batch * (detail::tile_bytes(s, e, t, t.l2, true, !t.y_in_l1) + moved),
          batch * detail::tile_bytes(s, e, t, t.l3, !t.x_stays, !t.y_stays), cost(s, e).bytes};
}

/// K beyond which 32-bit sums of int8 products could overflow: 131071 * 128 * 128 < 2^31, and
/// 65793 * 255 * 128 < 2^31.
inline constexpr std::int64_t kMaxKS8 = (std::int64_t{1} << 17) - 1, kMaxKU8 = 65793;

}  // namespace kernels::matmul
