// The order of tiles and the position in a ring, which the persistent Hopper kernels walk.
#include "kernels/matmul/tile_raster.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "kernels/cuda/ring_position.hpp"

namespace kernels::matmul {
namespace {

TEST(TileAt, VisitsEveryTileOnce) {
  for (const TileGrid grid : {TileGrid{1, 1, 1}, {16, 3, 1}, {17, 5, 2}, {40, 1, 3}, {3, 40, 1}}) {
    std::set<std::tuple<int, int, int>> seen;
    for (std::int64_t i = 0; i < grid.count(); ++i) {
      const TileAt t = tile_at<16>(grid, i);
      ASSERT_TRUE(t.m >= 0 && t.m < grid.tiles_m && t.n >= 0 && t.n < grid.tiles_n);
      ASSERT_TRUE(t.batch >= 0 && t.batch < grid.batch);
      EXPECT_TRUE(seen.emplace(t.m, t.n, t.batch).second) << i;
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), grid.count());
  }
}

TEST(TileAt, GoesDownAGroupOfRowsThenToTheNextColumn) {
  constexpr TileGrid kGrid{5, 3, 2};
  const auto expect = [&](std::int64_t i, int m, int n, int batch) {
    const TileAt t = tile_at<2>(kGrid, i);
    EXPECT_EQ(std::make_tuple(t.m, t.n, t.batch), std::make_tuple(m, n, batch)) << i;
  };
  expect(0, 0, 0, 0);
  expect(1, 1, 0, 0);
  expect(2, 0, 1, 0);
  expect(5, 1, 2, 0);
  expect(6, 2, 0, 0);   // the next two rows
  expect(12, 4, 0, 0);  // the last group has one row
  expect(13, 4, 1, 0);
  expect(15, 0, 0, 1);
}

/// 132 SMs at one time read about as much of X as of Y: 16 rows of 128 and 9 columns of 256.
TEST(TileAt, KeepsWhatRunsAtOneTimeNearlySquare) {
  std::set<int> rows, columns;
  for (std::int64_t i = 0; i < 132; ++i) {
    const TileAt t = tile_at<16>({64, 32, 1}, i);
    rows.insert(t.m);
    columns.insert(t.n);
  }
  EXPECT_EQ(rows.size(), 16u);
  EXPECT_EQ(columns.size(), 9u);
}

TEST(RingPosition, FlipsItsParityWhenItComesRound) {
  cuda::RingPosition<3> at;
  const int stages[] = {0, 1, 2, 0, 1, 2, 0};
  const unsigned parities[] = {0, 0, 0, 1, 1, 1, 0};
  for (int i = 0; i < 7; ++i, at.advance()) {
    EXPECT_EQ(at.stage, stages[i]) << i;
    EXPECT_EQ(at.parity, parities[i]) << i;
  }
}

}  // namespace
}  // namespace kernels::matmul
