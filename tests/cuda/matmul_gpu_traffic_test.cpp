// Bytes of a matmul on a GPU, by hand.
#include "kernels/matmul/matmul_gpu_traffic.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/registry.hpp"

namespace kernels::matmul {
namespace {

constexpr double kKiB = 1024;

const GpuKernel& table(std::string_view variant) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == "matmul" && info.variant == variant)
      return *static_cast<const GpuKernel*>(info.table);
  throw std::logic_error("no matmul " + std::string(variant));
}

TEST(GpuTileTraffic, OfTwoBlocksThatShareY) {
  // Two tiles of 128 x 256, one below the other, over 64 of K in 16 bits: each block brings its 16
  // KB of X, one brings both 32 KB of Y, 256 x 256 floats go out. Two warpgroups a block read 8 KB
  // of X each, and all of Y.
  const LevelBytes bytes = gpu_tile_traffic(
      {.m = 256, .n = 256, .k = 64}, {2, 2, 4, 0},
      {.block_m = 128, .block_n = 256, .block_k = 64, .warp_m = 64, .warp_n = 256, .cluster_m = 2});
  EXPECT_EQ(bytes.l2, (32 + 32 + 256) * kKiB);
  EXPECT_EQ(bytes.l1, 2 * (16 + 2 * 32) * kKiB);
}

TEST(GpuTileTraffic, OfPromotedProductsReadsXTwiceWhereItIsNotInRegisters) {
  // A tile of 128 x 256 over 128 of K in bytes: 16 KB of X and, for each of two warpgroups, 32 KB
  // of Y; X once more where 128 columns at a time are multiplied.
  const auto l1 = [](std::string_view variant) {
    const GpuKernel& kernel = table(variant);
    const GpuTiles& tiles = kernel.e4m3_tiles.block_m > 0 ? kernel.e4m3_tiles : kernel.tiles;
    return gpu_tile_traffic({.m = 128, .n = 256, .k = 128}, {1, 1, 4, 0}, tiles).l1;
  };
  for (const char* twice : {"sm90a_v13_store", "sm90a_v14_streamk", "sm90a_streamk_pairs"})
    EXPECT_EQ(l1(twice), 96 * kKiB) << twice;
  for (const char* once : {"sm90a_v16_quarters", "sm90a_v17_behind"})
    EXPECT_EQ(l1(once), 80 * kKiB) << once;
}

}  // namespace
}  // namespace kernels::matmul
