// Idea: bf16 activations times int8 weights without widening the weights: a row of X in units of a
// power of two has 15 bits, which are two int8 rows, and the two int8 products are added.
// Bound: the DRAM read roof at every batch up to 64; half the int8 roof.
// Gains over amx_tiled: what widening takes, which DRAM does not wait for: cold 8 x 28672 x 4096 58
// to 63, 32 rows 46 to 51, 64 rows 29 to 43 GB/s.
//
// Activations within 1/64 of their row's largest are exact, smaller ones are off by up to 2^-14 of
// it: for one that is 32 times smaller than that, as much as rounding it to bf16 was.
#include <cstring>
#include <utility>

#include "kernels/matmul/matmul_amx.hpp"

namespace kernels::matmul {
namespace {

using Bytes = Tiled<Int8Signed>;

/// The int8 product of twice the rows.
Plan doubled(const Plan& plan) {
  Plan out = plan;
  out.shape.m *= 2;
  return out;
}

/// What lies in the workspace before that of the int8 product: the units of M rows.
std::int64_t units_bytes(const Shape& s) { return round_up(s.m * 4, 4096); }

/// The largest magnitude: of bf16 without their signs, that of the largest bits.
float largest(const bf16* x, std::int64_t n) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  __m512i most = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < n; i += 32)
    most = _mm512_max_epu16(most, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
  alignas(64) bf16 each[32];
  _mm512_store_si512(each, most);
  return Avx512::F32::max_of(
      Avx512::F32::max(Avx512::F32::load(each), Avx512::F32::load(each + 16)));
}

/// A row as high and low bytes, 256 high + low, in units that it returns, each step of 64 where
/// `place(step)` says.
template <class Place>
float split(const bf16* x, std::int64_t n, Place place) {
  constexpr std::int64_t kStep = Amx::kRowBytes;
  const std::int64_t whole = n / kStep, left = n - whole * kStep;
  bf16 rest[kStep] = {};
  std::memcpy(rest, x + whole * kStep, static_cast<std::size_t>(left) * sizeof(bf16));
  const float most = __builtin_fmaxf(largest(x, whole * kStep), largest(rest, kStep));
  // 2^14 (1 - 2^-8) + 128 is the largest that the high byte then holds. Below 2^-100 the units end,
  // whose inverse is to be a normal number.
  constexpr int kBits = 13, kLeast = -100;
  const int exponent = most > 0x1p-100f ? __builtin_ilogbf(most) : kLeast;
  const auto units = Avx512::F32::set1(__builtin_ldexpf(1.0f, kBits - exponent));
  const auto bytes = [&](std::int64_t step, const bf16* from) {
    const auto [high, low] = place(step);
    for (int i = 0; i < kStep; i += 16)
      Avx512::F32::store_halves(Avx512::F32::mul(Avx512::F32::load(from + i), units), high + i,
                                low + i);
  };
  for (std::int64_t i = 0; i < whole; ++i) bytes(i, x + i * kStep);
  if (left > 0) bytes(whole, rest);
  return __builtin_ldexpf(1.0f, exponent - kBits);
}

/// out = (256 high + low) unit scales, for a row of a panel.
void combine(const std::int32_t* high, const std::int32_t* low, float unit, const float* scales,
             std::int64_t n, float* out) {
  for (std::int64_t j = 0; j < n; ++j)
    out[j] = (256 * static_cast<float>(high[j]) + static_cast<float>(low[j])) * (unit * scales[j]);
}

void run_packed(const Plan& plan, const bf16* x, const void* packed, const float* scales,
                float* z) {
  const Shape& s = plan.shape;
  auto* const units = static_cast<float*>(plan.workspace);
  Plan product = doubled(plan);
  product.workspace = static_cast<std::byte*>(plan.workspace) + units_bytes(s);
  const auto pack = [&](const Bytes::Layout& l, std::int8_t* out) {
#pragma omp for
    for (std::int64_t r = 0; r < s.m; ++r)
      units[r] = split(x + r * s.k, s.k, [&](std::int64_t step) {
        return std::pair(out + Bytes::x_place(l, step, r), out + Bytes::x_place(l, step, s.m + r));
      });
  };
  const auto put = [&](std::int64_t p, const std::int32_t* sums) {
    const std::int64_t column = p * kSide, width = lesser(kSide, s.n - column);
    for (std::int64_t r = 0; r < s.m; ++r) {
      alignas(64) float row[kSide];
      combine(sums + r * kSide, sums + (s.m + r) * kSide, units[r], scales + column, width, row);
      put_row(row, z + r * s.n + column, width);
    }
  };
  Bytes::stream(product, static_cast<const std::int8_t*>(packed), pack, put);
}

std::int64_t packed_bytes(const Plan& plan) { return Bytes::packed_bytes(doubled(plan)); }
void pack(const Plan& plan, const std::int8_t* y, const float* scales, void* packed) {
  Bytes::pack(doubled(plan), y, scales, packed);
}
std::int64_t workspace_bytes(const Plan& plan) {
  return units_bytes(plan.shape) + Bytes::workspace_bytes(doubled(plan));
}
/// A row of X is two of the int8 product.
Tiles tiles(const Plan& plan, bool prepacked) {
  Tiles t = Bytes::tiles(doubled(plan), prepacked);
  for (Tile* tile : {&t.l1, &t.l2, &t.l3}) tile->m /= 2;
  t.x_packed = sizeof(bf16);
  return t;
}

}  // namespace

extern const Kernel amx_split = {.exec_unit = Amx::kUnit,
                                 .bf16_s8 = {.packed_bytes = packed_bytes,
                                             .pack = pack,
                                             .run_packed = run_packed,
                                             .workspace_bytes = workspace_bytes,
                                             .tiles = tiles},
                                 .bf16_s8_roof = "bf16",
                                 .bf16_s8_rounding = 0x1p-14,
                                 .max_m = kFewRows / 2};

}  // namespace kernels::matmul
