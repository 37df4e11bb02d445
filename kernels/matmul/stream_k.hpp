// How stream-K shares out the steps along K of all tiles of Z. Plain arithmetic, so that the tests
// can walk it without a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/types.hpp"

namespace kernels::matmul {

/// The first `shared` tiles' steps lie end to end and are cut into a share a block, none larger
/// than another by more than a step; the tiles behind them go whole, one a block in turns.
struct StreamK {
  std::int64_t tiles;
  int shared;  ///< less than twice the blocks; in steps below 2^31
  int steps;   ///< of a tile
  int blocks;

  /// Where block `b`'s share begins.
  KERNELS_HD constexpr int share(int b) const {
    return static_cast<int>(std::int64_t{shared} * steps * b / blocks);
  }
  /// Whose share step `i` is in.
  KERNELS_HD constexpr int block_of(int i) const {
    return static_cast<int>(((i + std::int64_t{1}) * blocks - 1) / (shared * steps));
  }
  /// The first block of those that make a tile. They follow one another.
  KERNELS_HD constexpr int first_block(std::int64_t tile) const {
    return block_of(static_cast<int>(tile) * steps);
  }
  KERNELS_HD constexpr int parts(std::int64_t tile) const {
    if (tile >= shared) return 1;
    return block_of(static_cast<int>(tile + 1) * steps - 1) - first_block(tile) + 1;
  }
  /// Each end of a share and of a tile begins a part: numbered along the line, by adding up both.
  KERNELS_HD constexpr int part(std::int64_t tile, int block) const {
    return static_cast<int>(tile) + block;
  }
  constexpr int part_numbers() const { return shared > 0 ? shared + blocks - 1 : 0; }
  /// Parts that are left to another block, of all tiles.
  constexpr int parts_left() const {
    int all = 0;
    for (int tile = 0; tile < shared; ++tile) all += parts(tile) > 1 ? parts(tile) : 0;
    return all;
  }
};

/// Steps `first` to `end` - 1 of a tile.
struct Piece {
  std::int64_t tile;
  int first, end;
};

/// What one block does, in its order.
class Pieces {
 public:
  KERNELS_HD constexpr Pieces(const StreamK& work, int block)
      : at_(work.share(block)), end_(work.share(block + 1)), whole_(work.shared + block) {}
  /// False after the last.
  KERNELS_HD constexpr bool next(const StreamK& work, Piece& piece) {
    if (at_ < end_) {
      piece.tile = at_ / work.steps;
      piece.first = at_ % work.steps;
      const int end = piece.first + (end_ - at_);
      piece.end = end < work.steps ? end : work.steps;
      at_ += piece.end - piece.first;
      return true;
    }
    piece = {whole_, 0, work.steps};
    whole_ += work.blocks;
    return piece.tile < work.tiles;
  }

 private:
  int at_, end_;
  std::int64_t whole_;
};

/// Time, in steps, of the slowest block. To write a part, to count it, or to read one, takes
/// `part_steps`; the last block of a tile reads all parts of it.
constexpr std::int64_t stream_k_time(const StreamK& work, int part_steps) {
  int longest = 0, most_parts = 1;
  for (int b = 0; b < work.blocks; ++b)
    longest = std::max(longest, work.share(b + 1) - work.share(b));
  for (int tile = 0; tile < work.shared; ++tile)
    most_parts = std::max(most_parts, work.parts(tile));
  const std::int64_t turns = (work.tiles - work.shared + work.blocks - 1) / work.blocks;
  return turns * work.steps + longest + (most_parts > 1 ? (2 + most_parts) * part_steps : 0);
}

/// The fastest way, by stream_k_time, to make `tiles` tiles of `steps` steps on `sms` SMs: whole
/// tiles; or, where they are fewer than SMs, all of them cut over some of these; or, where they are
/// more, the last turn of whole tiles and what is left over from it cut into equal shares.
constexpr StreamK stream_k(std::int64_t tiles, int steps, int sms, int part_steps) {
  StreamK best{tiles, 0, steps, static_cast<int>(std::min<std::int64_t>(tiles, sms))};
  const auto consider = [&](int shared, int blocks) {
    const StreamK other{tiles, shared, steps, blocks};
    if (stream_k_time(other, part_steps) < stream_k_time(best, part_steps)) best = other;
  };
  if (tiles >= sms) {
    consider(sms + static_cast<int>(tiles % sms), sms);
  } else {
    const int all = static_cast<int>(tiles);
    for (int blocks = all + 1; blocks <= sms && blocks <= tiles * steps; ++blocks)
      consider(all, blocks);
  }
  return best;
}

}  // namespace kernels::matmul
