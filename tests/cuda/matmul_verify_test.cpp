// The sampling and the tolerances of the GPU's matmul oracle.
#include "kernels/matmul/matmul_gpu_verify.hpp"

#include <gtest/gtest.h>

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
    for (const auto type : {cuda::Type::bf16, cuda::Type::f32, cuda::Type::f64, cuda::Type::tf32})
      EXPECT_LT(gpu_tolerance(type, static_cast<std::int64_t>(k), k / 4), 0.94) << k;
  // (4 * 8 + 8) * 2^-23 * 16
  EXPECT_DOUBLE_EQ(gpu_tolerance(cuda::Type::bf16, 64, 16), 640.0 / 8388608);
}

}  // namespace
}  // namespace kernels::matmul
