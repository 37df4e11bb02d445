// Idea: bf16 activations times int8 weights without widening the weights: a row of X in units of a
// power of two has 15 bits, which are two int8 rows, and the two int8 products are added.
// Bound: the DRAM read roof at every batch up to 64; half the int8 roof.
// Gains over amx_tiled: what widening takes, which DRAM does not wait for: cold 8 x 28672 x 4096 58
// to 63, 32 rows 46 to 51, 64 rows 29 to 43 GB/s.
#include <cstring>

#include "kernels/matmul/matmul_amx.hpp"
#include "kernels/matmul/matmul_avx512_units.hpp"

namespace kernels::matmul {
namespace {

using Bytes = Tiled<Int8Signed>;
constexpr std::int64_t kStep = Amx::kRowBytes;  ///< numbers

/// The int8 product of twice the rows.
Plan doubled(const Plan& plan) {
  Plan out = plan;
  out.shape.m *= 2;
  return out;
}

/// What lies in the workspace before that of the int8 product: the units of M rows.
std::int64_t units_bytes(const Shape& s) { return round_up(s.m * 4, 4096); }

/// kStep numbers as high and low bytes, 256 high + low, in units of which 1 is `inverse`.
void split(const bf16* x, float inverse, std::int8_t* high, std::int8_t* low) {
  for (int i = 0; i < kStep; i += 32) split(in_units(x + i, inverse), high + i, low + i);
}

/// n numbers, each kStep of them `high_step` and `low_step` behind those before.
void split(const bf16* x, std::int64_t n, float unit, std::int8_t* high, std::int64_t high_step,
           std::int8_t* low, std::int64_t low_step) {
  const float inverse = 1 / unit;
  for (; n >= kStep; n -= kStep, x += kStep, high += high_step, low += low_step)
    split(x, inverse, high, low);
  if (n == 0) return;
  bf16 edge[kStep] = {};
  std::memcpy(edge, x, static_cast<std::size_t>(n) * sizeof(bf16));
  split(edge, inverse, high, low);
}

/// out = (256 high + low) unit scales, for a row of a panel.
void combine(const std::int32_t* high, const std::int32_t* low, float unit, const float* scales,
             std::int64_t n, float* out) {
  for (std::int64_t j = 0; j < n; ++j)
    out[j] = (256 * static_cast<float>(high[j]) + static_cast<float>(low[j])) * (unit * scales[j]);
}

/// The int8 product of both bytes; `put(i, sums, units)` as that of Tiled::stream().
template <int kTogether, class Put>
void stream(const Plan& plan, const bf16* x, const void* packed, Put put) {
  const Shape& s = plan.shape;
  auto* const units = static_cast<float*>(plan.workspace);
  Plan product = doubled(plan);
  product.workspace = static_cast<std::byte*>(plan.workspace) + units_bytes(s);
  const auto prepare = [&] {
#pragma omp for
    for (std::int64_t r = 0; r < s.m; ++r) units[r] = unit_of(x + r * s.k, s.k);
  };
  const auto pack = [&](const Bytes::Layout& l, std::int64_t at, std::int64_t steps,
                        std::int8_t* out) {
    for (std::int64_t r = 0; r < s.m; ++r) {
      std::int8_t* high = out + l.x_place(at, r);
      std::int8_t* low = out + l.x_place(at, s.m + r);
      split(x + r * s.k + at * kStep, lesser(steps * kStep, s.k - at * kStep), units[r], high,
            l.x_step(r), low, l.x_step(s.m + r));
    }
  };
  Bytes::stream<kTogether>(product, static_cast<const std::int8_t*>(packed), prepare, pack,
                           [&](std::int64_t i, const std::int32_t* sums) { put(i, sums, units); });
}

void run_packed(const Plan& plan, const bf16* x, const void* packed, const float* scales,
                float* z) {
  const Shape& s = plan.shape;
  stream<1>(plan, x, packed, [&](std::int64_t p, const std::int32_t* sums, const float* units) {
    const std::int64_t column = p * kSide, width = lesser(kSide, s.n - column);
    for (std::int64_t r = 0; r < s.m; ++r, sums += kSide) {
      alignas(64) float row[kSide];
      combine(sums, sums + s.m * kSide, units[r], scales + column, width, row);
      put_row(row, z + r * s.n + column, width);
    }
  });
}
void run_gated(const Plan& plan, const bf16* x, const void* packed, const float* scales,
               bf16* out) {
  const Shape& s = plan.shape;
  stream<2>(plan, x, packed, [&](std::int64_t i, const std::int32_t* sums, const float* units) {
    const float* of_gates = scales + i * 2 * kSide;
    for (std::int64_t r = 0; r < s.m; ++r, sums += kSide) {
      alignas(64) float gates[kSide], up[kSide];
      const std::int32_t* const of_up = sums + Bytes::kSums;
      combine(sums, sums + s.m * kSide, units[r], of_gates, kSide, gates);
      combine(of_up, of_up + s.m * kSide, units[r], of_gates + kSide, kSide, up);
      put_gated(gates, up, out + r * s.n / 2 + i * kSide);
    }
  });
}

std::int64_t packed_bytes(const Plan& plan) { return Bytes::packed_bytes(doubled(plan)); }
void pack(const Plan& plan, const std::int8_t* y, const float* scales, void* packed) {
  Bytes::pack(doubled(plan), y, scales, packed);
}
std::int64_t workspace_bytes(const Plan& plan) {
  return units_bytes(plan.shape) + Bytes::Layout::workspace_bytes(doubled(plan));
}
/// A row of X is two of the int8 product.
Tiles tiles(const Plan& plan, bool prepacked) {
  Tiles t = Bytes::Layout::tiles(doubled(plan), prepacked);
  for (Tile* tile : {&t.l1, &t.l2, &t.l3}) tile->m /= 2;
  t.x_packed = sizeof(bf16);
  return t;
}

}  // namespace

extern const Kernel amx_split = {.exec_unit = Amx::kUnit,
                                 .bf16_s8 = {.packed_bytes = packed_bytes,
                                             .pack = pack,
                                             .run_packed = run_packed,
                                             .run_gated = run_gated,
                                             .gated_rows = kFewRows / 2,
                                             .workspace_bytes = workspace_bytes,
                                             .tiles = tiles},
                                 .bf16_s8_roof = "bf16",
                                 .bf16_s8_rounding = kUnitRounding,
                                 .max_m = kFewRows / 2,
                                 .max_k = kMaxKS8};

}  // namespace kernels::matmul
