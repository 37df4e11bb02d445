// The oracle for a product on the GPU. Every entry against double on the host up to 512^3
// multiply-adds; beyond it sampled entries on every tile edge and Freivalds' check of every row,
// both in double on the device.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/reference.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul {

inline constexpr double kFullOracleMacs = 512.0 * 512 * 512;

/// Allowed error of an entry of K products whose absolute values sum to `magnitude`. The K
/// roundings are taken as a random walk, four deviations wide, each up to one unit in the last
/// place because tensor cores cut off. tf32 besides cuts its inputs by up to 2^-10 each: the errors
/// of K products of random signs add up to 4 / sqrt(K) of their magnitude. e4m3 is summed in fp32
/// from sums of 128 products, within which the tensor cores keep some 14 bits (DeepSeek-V3's
/// report, section 3.3.2): 2^-13 a product, four deviations wide and six times as much, as the
/// largest summand rules (one of 33 000 entries on an H200 was off by five times as much). Sums of
/// all K in 14 bits would miss that from K of some thousands on.
inline double gpu_tolerance(cuda::Type type, std::int64_t k, double magnitude) {
  const double root = std::sqrt(static_cast<double>(k));
  switch (type) {
    case cuda::Type::s8:
      return 0;
    case cuda::Type::f64:
      return (4 * root + 8) * 0x1p-53 * magnitude;
    case cuda::Type::tf32:
      return (4 * root + 8) * 0x1p-23 * magnitude + 0x1p-9 * 4 / root * magnitude;
    case cuda::Type::e4m3:
      return (4 * root + 8) * 0x1p-23 * magnitude + 0x1p-13 * 24 / root * magnitude;
    default:
      return (4 * root + 8) * 0x1p-23 * magnitude;
  }
}

/// Rows (or columns) on both sides of every tile edge, and the last one.
inline std::vector<std::int64_t> edges(std::int64_t n, int tile) {
  std::vector<std::int64_t> all;
  const std::int64_t step = tile > 0 ? tile : 128;
  for (std::int64_t i = 0; i < n; i += step) {
    if (i > 0) all.push_back(i - 1);
    all.push_back(i);
  }
  if (all.back() != n - 1) all.push_back(n - 1);
  return all;
}

/// Entries to sample: each edge row in a few columns and each edge column in a few rows.
inline std::vector<cuda::Entry> sample_entries(std::int64_t m, std::int64_t n,
                                               const GpuTiles& tiles) {
  constexpr int kEach = 4;
  std::vector<cuda::Entry> all;
  std::uint64_t state = 1;
  const auto next = [&](std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (const std::int64_t row : edges(m, tiles.block_m))
    for (int i = 0; i < kEach; ++i) all.push_back({row, next(n), 0, 0});
  for (const std::int64_t column : edges(n, tiles.block_n))
    for (int i = 0; i < kEach; ++i) all.push_back({next(m), column, 0, 0});
  return all;
}

}  // namespace kernels::matmul
