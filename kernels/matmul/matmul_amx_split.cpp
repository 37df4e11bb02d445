// Idea: bf16 activations times int8 weights without widening the weights: a row of X in units of a
// power of two has 15 bits, which are two int8 rows, and the two int8 products are added.
// Bound: the DRAM read roof at every batch up to 16; half the int8 roof.
// Gains over amx_tiled: what widening takes, which DRAM does not wait for.
//
// Activations within 1/64 of their row's largest are exact, smaller ones are off by up to 2^-14 of
// it: for one that is 32 times smaller than that, as much as rounding it to bf16 was.
#include <cstring>

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

/// What lies in the workspace before that of the int8 product.
struct Parts {
  std::int64_t x, sums, steps;  ///< bytes: [2M][K] int8, [2M][N] int32, [M] fp32
  std::int64_t all() const { return x + sums + steps; }
};
Parts parts_of(const Shape& s) {
  return {round_up(2 * s.m * s.k, 4096), round_up(2 * s.m * s.n * 4, 4096),
          round_up(s.m * 4, 4096)};
}

float largest(const bf16* x, std::int64_t n) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  auto most = Avx512::F32::zero();
  for (std::int64_t i = 0; i < n; i += 16)
    most = Avx512::F32::max(most, _mm512_castsi512_ps(_mm512_and_si512(
                                      _mm512_castps_si512(Avx512::F32::load(x + i)), magnitude)));
  return Avx512::F32::max_of(most);
}

/// A row as high and low bytes, 256 high + low, in units that it returns.
float split(const bf16* x, std::int64_t n, std::int8_t* high, std::int8_t* low) {
  const std::int64_t whole = n / 16 * 16, left = n - whole;
  bf16 rest[16] = {};
  std::memcpy(rest, x + whole, static_cast<std::size_t>(left) * sizeof(bf16));
  const float most = __builtin_fmaxf(largest(x, whole), largest(rest, 16));
  // 2^14 (1 - 2^-8) + 128 is the largest that the high byte then holds. Below 2^-100 the units end,
  // whose inverse is to be a normal number.
  constexpr int kBits = 13, kLeast = -100;
  const int exponent = most > 0x1p-100f ? __builtin_ilogbf(most) : kLeast;
  const auto units = Avx512::F32::set1(__builtin_ldexpf(1.0f, kBits - exponent));
  const __m512i half = _mm512_set1_epi32(128);
  const auto bytes = [&](const bf16* from, std::int8_t* high_to, std::int8_t* low_to) {
    const __m512i value = _mm512_cvtps_epi32(Avx512::F32::mul(Avx512::F32::load(from), units));
    const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(value, half), 8);
    const __m512i lower = _mm512_sub_epi32(value, _mm512_slli_epi32(upper, 8));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high_to), _mm512_cvtepi32_epi8(upper));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low_to), _mm512_cvtepi32_epi8(lower));
  };
  for (std::int64_t i = 0; i < whole; i += 16) bytes(x + i, high + i, low + i);
  std::int8_t edge[2][16];
  bytes(rest, edge[0], edge[1]);
  std::memcpy(high + whole, edge[0], static_cast<std::size_t>(left));
  std::memcpy(low + whole, edge[1], static_cast<std::size_t>(left));
  return __builtin_ldexpf(1.0f, exponent - kBits);
}

/// z = (256 high + low) step scales
void combine(const std::int32_t* high, const std::int32_t* low, float step, const float* scales,
             std::int64_t n, float* z) {
  for (std::int64_t j = 0; j < n; ++j)
    z[j] = (256 * static_cast<float>(high[j]) + static_cast<float>(low[j])) * (step * scales[j]);
}

void run_packed(const Plan& plan, const bf16* x, const void* packed, const float* scales,
                float* z) {
  const Shape& s = plan.shape;
  const Parts parts = parts_of(s);
  auto* const memory = static_cast<std::byte*>(plan.workspace);
  auto* const bytes = reinterpret_cast<std::int8_t*>(memory);
  auto* const sums = reinterpret_cast<std::int32_t*>(memory + parts.x);
  auto* const steps = reinterpret_cast<float*>(memory + parts.x + parts.sums);
#pragma omp parallel for num_threads(plan.threads)
  for (std::int64_t r = 0; r < s.m; ++r)
    steps[r] = split(x + r * s.k, s.k, bytes + r * s.k, bytes + (s.m + r) * s.k);

  Plan product = doubled(plan);
  product.workspace = memory + parts.all();
  Bytes::run_packed(product, bytes, packed, nullptr, sums);

  constexpr std::int64_t kPiece = 2048;
  const std::int64_t pieces = blocks_of(s.n, kPiece);
#pragma omp parallel for num_threads(plan.threads)
  for (std::int64_t i = 0; i < s.m * pieces; ++i) {
    const std::int64_t r = i / pieces, at = i % pieces * kPiece;
    combine(sums + r * s.n + at, sums + (s.m + r) * s.n + at, steps[r], scales + at,
            lesser(kPiece, s.n - at), z + r * s.n + at);
  }
}

std::int64_t packed_bytes(const Plan& plan) { return Bytes::packed_bytes(doubled(plan)); }
void pack(const Plan& plan, const std::int8_t* y, const float* scales, void* packed) {
  Bytes::pack(doubled(plan), y, scales, packed);
}
std::int64_t workspace_bytes(const Plan& plan) {
  return parts_of(plan.shape).all() + Bytes::workspace_bytes(doubled(plan));
}
Tiles tiles(const Plan& plan, bool prepacked) { return Bytes::tiles(doubled(plan), prepacked); }

}  // namespace

extern const Kernel amx_split = {.exec_unit = Amx::kUnit,
                                 .bf16_s8 = {.packed_bytes = packed_bytes,
                                             .pack = pack,
                                             .run_packed = run_packed,
                                             .workspace_bytes = workspace_bytes,
                                             .tiles = tiles},
                                 .bf16_s8_roof = "bf16",
                                 .bf16_s8_rounding = 0x1p-14,
                                 .max_m = kSide / 2};

}  // namespace kernels::matmul
