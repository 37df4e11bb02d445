// AMX: eight tiles of up to sixteen rows of 64 bytes. A tile of the right-hand matrix holds in each
// row the 2 bf16 or 4 bytes of K that one sum takes at a time, for sixteen columns.
//
// The intrinsics are inline assembly in GCC 12, which says nothing of memory: memory_fence() stands
// where a tile is loaded from, or stored to, memory that other code writes or reads.
#pragma once

#include <cstdint>

#include "kernels/simd/avx512.hpp"

namespace kernels {
namespace {

struct Amx {
  static constexpr const char* kUnit = "amx";
  static constexpr int kRows = 16, kRowBytes = 64, kTileBytes = kRows * kRowBytes;

  static void memory_fence() { asm volatile("" ::: "memory"); }

  struct TileShape {
    std::int64_t rows, row_bytes = kRowBytes;
  };
  /// Gives the calling thread tiles until leave(), all zero.
  static void configure(const TileShape (&tiles)[8]) {
    struct alignas(64) {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t row_bytes[16] = {};
      std::uint8_t rows[16] = {};
    } config;
    for (int tile = 0; tile < 8; ++tile) {
      config.row_bytes[tile] = static_cast<std::uint16_t>(tiles[tile].row_bytes);
      config.rows[tile] = static_cast<std::uint8_t>(tiles[tile].rows);
    }
    memory_fence();
    _tile_loadconfig(&config);
  }
  /// Tiles of the left-hand matrix (6, and 7 below it) and of sums (0 and 1, and 2 and 3 below)
  /// with `rows` rows, up to 32, together; the others whole.
  static void configure(std::int64_t rows = 2 * kRows) {
    const std::int64_t top = rows < kRows ? rows : kRows, bottom = rows > kRows ? rows - kRows : 1;
    configure({{top}, {top}, {bottom}, {bottom}, {kRows}, {kRows}, {top}, {bottom}});
  }
  /// Back to the state in which switching threads saves no tiles.
  static void leave() { _tile_release(); }
};

}  // namespace
}  // namespace kernels
