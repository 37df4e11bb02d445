// What the bandwidth probe's arrays hold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "kernels/values.hpp"

namespace kernels::stream {

/// What arrays hold: numbers in [1, 2) of 20 bits, so that a triad is exact whether it rounds once
/// or twice. One of a table and one of its block added up: no two blocks repeat, or a read that
/// left out the same lines of both would have the same bits, and no two arrays are equal, or a copy
/// that did nothing would be right. An add costs as much as copying the table (gigabytes are
/// filled); a hash for every number would not.
inline constexpr std::int64_t kPeriod = 2048;
inline constexpr std::array<std::uint32_t, kPeriod> kOfPlace = [] {
  std::array<std::uint32_t, kPeriod> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint32_t>(hash(1, i));
  return table;
}();

class Values {
 public:
  /// Of one array of a thread's part.
  Values(int thread, std::int64_t part, int array)
      : seed_((static_cast<std::uint64_t>(thread) << 32 | static_cast<std::uint64_t>(part)) << 2 |
              static_cast<std::uint64_t>(array)) {}

  /// The summand of the block that begins at i, a multiple of kPeriod.
  std::uint32_t of_block(std::int64_t i) const {
    return static_cast<std::uint32_t>(hash(seed_, static_cast<std::uint64_t>(i)));
  }
  static std::uint32_t bits(std::int64_t place, std::uint32_t of_block) {
    constexpr std::uint32_t kOne = 0x3f800000, kFraction = 0x7ffff8;
    return ((kOfPlace[place] + of_block) & kFraction) | kOne;
  }
  static float at(std::int64_t place, std::uint32_t of_block) {
    return std::bit_cast<float>(bits(place, of_block));
  }

 private:
  std::uint64_t seed_;
};

/// Calls `block(begin, count)` for the blocks of n numbers.
template <class Block>
void for_each_block(std::int64_t n, Block block) {
  for (std::int64_t begin = 0; begin < n; begin += kPeriod)
    block(begin, std::min(n - begin, kPeriod));
}

inline void fill(float* p, std::int64_t n, const Values& values) {
  for_each_block(n, [&](std::int64_t begin, std::int64_t count) {
    const std::uint32_t of_block = values.of_block(begin);
    for (std::int64_t i = 0; i < count; ++i) p[begin + i] = Values::at(i, of_block);
  });
}

}  // namespace kernels::stream
