// The sampling and the tolerances of the GPU's matmul oracle.
#include "kernels/matmul/matmul_gpu_verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kernels::matmul {
namespace {

TEST(Edges, AreBothSidesOfEveryTileEdgeAndTheEnd) {
  EXPECT_EQ(edges(300, 128), (std::vector<std::int64_t>{0, 127, 128, 255, 256, 299}));
  EXPECT_EQ(edges(1, 128), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(edges(128, 128), (std::vector<std::int64_t>{0, 127}));
  EXPECT_EQ(edges(130, 0), (std::vector<std::int64_t>{0, 127, 128, 129})) << "a library's tile";
}

TEST(SampleEntries, CoverEveryEdgeRowAndColumnInsideTheMatrix) {
  const auto entries = sample_entries(1000, 520, {.block_m = 128, .block_n = 64});
  std::set<std::int64_t> rows, columns;
  for (const auto& e : entries) {
    ASSERT_TRUE(e.row >= 0 && e.row < 1000 && e.column >= 0 && e.column < 520);
    rows.insert(e.row);
    columns.insert(e.column);
  }
  for (const auto row : edges(1000, 128)) EXPECT_TRUE(rows.count(row)) << row;
  for (const auto column : edges(520, 64)) EXPECT_TRUE(columns.count(column)) << column;
}

TEST(Tolerance, IsZeroForIntegersAndFarBelowAMissingTile) {
  EXPECT_EQ(gpu_tolerance(cuda::Type::s8, 4096, 1e6), 0);
  // Uniform inputs in [-1, 1): |x y| is 1/4 on average. A step of 8 products left out moves an
  // entry by about sqrt(8) / 3 = 0.94.
  for (const double k : {64.0, 512.0, 4096.0, 14336.0})
    for (const auto type :
         {cuda::Type::bf16, cuda::Type::f32, cuda::Type::f64, cuda::Type::tf32, cuda::Type::e4m3})
      EXPECT_LT(gpu_tolerance(type, static_cast<std::int64_t>(k), k / 4), 0.94) << k;
  // (4 * 8 + 8) * 2^-23 * 16
  EXPECT_DOUBLE_EQ(gpu_tolerance(cuda::Type::bf16, 64, 16), 640.0 / 8388608);
}

/// A float of 14 bits, as the tensor cores keep sums of fp8 products.
double cut(double v) {
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);
  return std::ldexp(std::trunc(fraction * 0x1p14), exponent - 14);
}

/// Sums of 4096 products, promoted to fp32 every 128 of them or never.
TEST(Tolerance, TellsFp8SumsInFp32FromThoseThatStayInTheTensorCore) {
  constexpr int kK = 4096, kEntries = 200;
  int promoted_wrong = 0, unpromoted_wrong = 0;
  for (int entry = 0; entry < kEntries; ++entry) {
    double exact = 0, magnitude = 0, promoted = 0, part = 0, unpromoted = 0;
    for (int step = 0; step < kK / 32; ++step) {
      double sum = 0;
      for (int k = 32 * step; k < 32 * step + 32; ++k) {
        const auto at = static_cast<std::uint64_t>(entry) * kK + k;
        const double p = cuda::value_at(cuda::Type::e4m3, 1, at, cuda::Values::normal) *
                         cuda::value_at(cuda::Type::e4m3, 2, at, cuda::Values::normal);
        sum += p;
        magnitude += std::abs(p);
      }
      exact += sum;
      part = cut(part + sum);
      unpromoted = cut(unpromoted + sum);
      if (step % 4 == 3) {
        promoted += part;
        part = 0;
      }
    }
    const double allowed = gpu_tolerance(cuda::Type::e4m3, kK, magnitude);
    promoted_wrong += std::abs(promoted - exact) > allowed;
    unpromoted_wrong += std::abs(unpromoted - exact) > allowed;
  }
  EXPECT_EQ(promoted_wrong, 0);
  EXPECT_GT(unpromoted_wrong, kEntries / 4);
}

}  // namespace
}  // namespace kernels::matmul
