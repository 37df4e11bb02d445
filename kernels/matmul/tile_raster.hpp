// In which order blocks take the tiles of Z. Plain arithmetic, so that the
// tests can walk it without a GPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/types.hpp"

namespace kernels::matmul {

/// Tiles that cover n rows or columns.
constexpr int tiles(std::int64_t n, int tile) { return static_cast<int>((n + tile - 1) / tile); }

/// Tiles of all products of a batch.
struct TileGrid {
  int tiles_m, tiles_n, batch;
  /// Below 2^31, as no memory holds a Z of more. Divisions of 64 bits would be calls, around which
  /// ptxas keeps a warpgroup to the registers that all have.
  constexpr int count() const { return tiles_m * tiles_n * batch; }
};

struct TileAt {
  int m, n, batch;
};

/// Down a group of `kGroup` rows of tiles, then on to the next column: the blocks that run at one
/// time (some 132) then cover about as many rows of X as columns of Y, and L2 serves both.
template <int kGroup>
KERNELS_HD constexpr TileAt tile_at(const TileGrid& g, int index) {
  const int per_product = g.tiles_m * g.tiles_n;
  const int batch = index / per_product, i = index % per_product;
  const int first = i / (kGroup * g.tiles_n) * kGroup;
  const int rows = g.tiles_m - first < kGroup ? g.tiles_m - first : kGroup;
  const int inside = i - first * g.tiles_n;
  return {first + inside % rows, inside / rows, batch};
}

}  // namespace kernels::matmul
