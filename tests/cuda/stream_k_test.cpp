// How stream-K shares out the steps along K.
#include "kernels/matmul/stream_k.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace kernels::matmul {
namespace {

std::vector<Piece> pieces_of(const StreamK& work, int block) {
  std::vector<Piece> all;
  Piece piece;
  for (Pieces pieces(work, block); pieces.next(work, piece);) all.push_back(piece);
  return all;
}

constexpr StreamK kPlans[] = {
    {1, 1, 1, 1},       {1, 1, 7, 3},        {1, 1, 7, 7},      {2, 2, 5, 3},  {4, 4, 3, 3},
    {32, 32, 128, 132}, {48, 48, 64, 132},   {8, 5, 32, 3},     {17, 4, 9, 3}, {6, 0, 4, 3},
    {7, 0, 4, 3},       {289, 157, 47, 132}, {263, 263, 2, 132}};

TEST(StreamK, DoesEveryStepOfEveryTileOnce) {
  for (const StreamK& work : kPlans) {
    std::set<std::pair<std::int64_t, int>> seen;
    for (int b = 0; b < work.blocks; ++b)
      for (const Piece& p : pieces_of(work, b)) {
        ASSERT_LT(p.first, p.end);
        for (int step = p.first; step < p.end; ++step)
          EXPECT_TRUE(seen.emplace(p.tile, step).second) << p.tile << " " << step;
      }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), work.tiles * work.steps);
    EXPECT_EQ(seen.rbegin()->first, work.tiles - 1);
    EXPECT_EQ(seen.rbegin()->second, work.steps - 1);
  }
}

TEST(StreamK, CutsSharesThatDifferByAtMostAStep) {
  for (const StreamK& work : kPlans) {
    const auto [least, most] =
        std::pair{work.shared * work.steps / work.blocks,
                  (work.shared * work.steps + work.blocks - 1) / work.blocks};
    for (int b = 0; b < work.blocks; ++b) {
      const int share = work.share(b + 1) - work.share(b);
      EXPECT_TRUE(share == least || share == most) << share;
    }
  }
}

/// What the blocks of a tile agree on without a word: how many they are, and whose part is where.
TEST(StreamK, NumbersTheBlocksOfATileAndTheirParts) {
  for (const StreamK& work : kPlans) {
    std::vector<std::vector<std::pair<int, int>>> makers(work.tiles);  // first step, block
    for (int b = 0; b < work.blocks; ++b)
      for (const Piece& p : pieces_of(work, b)) makers[p.tile].emplace_back(p.first, b);
    std::set<int> parts;
    int left = 0;
    for (std::int64_t tile = 0; tile < work.tiles; ++tile) {
      auto& blocks = makers[tile];
      std::sort(blocks.begin(), blocks.end());
      ASSERT_EQ(work.parts(tile), static_cast<int>(blocks.size()));
      if (blocks.size() == 1) continue;
      left += static_cast<int>(blocks.size());
      for (int i = 0; i < work.parts(tile); ++i) {
        EXPECT_EQ(blocks[i].second, work.first_block(tile) + i);
        const int part = work.part(tile, blocks[i].second);
        EXPECT_TRUE(parts.insert(part).second) << part;
        EXPECT_LT(part, work.part_numbers());
      }
    }
    EXPECT_EQ(work.parts_left(), left);
  }
}

/// Five of eight tiles of 4 steps over 3 blocks: 20 steps from 0, 6 and 13 on.
TEST(StreamK, GoesThroughItsShareAndThenWholeTiles) {
  constexpr StreamK kWork{8, 5, 4, 3};
  const auto expect = [&](int block, const std::vector<std::vector<int>>& want) {
    std::vector<std::vector<int>> got;
    for (const Piece& p : pieces_of(kWork, block))
      got.push_back({static_cast<int>(p.tile), p.first, p.end});
    EXPECT_EQ(got, want) << block;
  };
  expect(0, {{0, 0, 4}, {1, 0, 2}, {5, 0, 4}});
  expect(1, {{1, 2, 4}, {2, 0, 4}, {3, 0, 1}, {6, 0, 4}});
  expect(2, {{3, 1, 4}, {4, 0, 4}, {7, 0, 4}});
  static_assert(kWork.parts(0) == 1 && kWork.parts(1) == 2 && kWork.parts(3) == 2);
  static_assert(kWork.first_block(1) == 0 && kWork.first_block(3) == 1);
  static_assert(kWork.parts(5) == 1, "behind the shared ones");
  static_assert(kWork.parts_left() == 4 && kWork.part_numbers() == 7);
  // One turn of whole tiles, 7 steps of share; a tile's last block writes, counts and reads two
  // parts.
  static_assert(stream_k_time(kWork, 2) == 4 + 7 + 8);
}

/// On 132 SMs, where a part costs two steps.
TEST(StreamK, IsChosenWhereItIsFaster) {
  const auto expect = [](std::int64_t tiles, int steps, int shared, int blocks, int time) {
    const StreamK work = stream_k(tiles, steps, 132, 2);
    EXPECT_EQ(work.shared, shared) << tiles << " x " << steps;
    EXPECT_EQ(work.blocks, blocks) << tiles << " x " << steps;
    EXPECT_EQ(stream_k_time(work, 2), time) << tiles << " x " << steps;
  };
  // M = 128, N = K = 8192: four blocks a tile, and no share lies in two.
  expect(32, 128, 32, 128, 32 + 2 * (2 + 4));
  // M = 256, N = 6144, K = 4096: five shares of 25.6 steps are two tiles, a tile's are three.
  expect(48, 64, 48, 120, 26 + 2 * (2 + 3));
  // M = 256, N = 28672, K = 4096: instead of two turns of 64; longer shares than tiles cut these
  // once.
  expect(224, 64, 224, 132, 109 + 2 * (2 + 2));
  expect(289, 47, 157, 132, 47 + 56 + 2 * (2 + 2));
  expect(128, 32, 0, 128, 32);   // 2048^3: shares are 31.03 steps
  expect(512, 64, 0, 132, 256);  // 4096^3: 128 + 121 + 8 are more
  expect(132, 64, 0, 132, 64);
  expect(1, 1, 0, 1, 1);
}

/// M = 256 on 66 pairs of SMs.
TEST(StreamK, IsChosenForPairsWhereItIsFaster) {
  const auto expect = [](std::int64_t tiles, int steps, int shared, int blocks, int time) {
    const StreamK work = stream_k(tiles, steps, 66, 2);
    EXPECT_EQ(work.shared, shared) << tiles << " x " << steps;
    EXPECT_EQ(work.blocks, blocks) << tiles << " x " << steps;
    EXPECT_EQ(stream_k_time(work, 2), time) << tiles << " x " << steps;
  };
  expect(112, 64, 112, 66, 109 + 2 * (2 + 2));  // N = 28672, K = 4096: instead of two turns of 64
  expect(40, 128, 40, 66, 78 + 2 * (2 + 3));    // N = 10240, K = 8192: instead of 40 pairs' 128
  expect(16, 64, 16, 64, 16 + 2 * (2 + 4));     // N = K = 4096: four pairs a tile
}

}  // namespace
}  // namespace kernels::matmul
