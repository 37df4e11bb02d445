// pages: bandwidth of reading whole pages that lie at random, as attention reads a paged cache. A
// probe for what main memory gives of its read roof then.
#pragma once

#include <cstdint>

#include "kernels/op.hpp"

namespace kernels::pages {

struct Kernel {
  const char* exec_unit;
  /// Reads `count` pages, a multiple of kSideBySide, of `floats` floats each, a power of two of at
  /// least kLeastPage bytes, 64-byte aligned. Behind them `pages` has kBehind more, which are only
  /// asked for. Returns the values' bits under exclusive or.
  std::uint32_t (*read)(const float* const* pages, std::int64_t count, std::int64_t floats);
};

/// Pages that are read at one time, a piece of each in turns.
inline constexpr std::int64_t kSideBySide = 4;
/// Bytes of the smallest page.
inline constexpr std::int64_t kLeastPage = 1024;
/// Bytes of a page that lines are asked for ahead, at most.
inline constexpr std::int64_t kFarthest = 4096;
inline constexpr std::int64_t kBehind = kSideBySide * (kFarthest / kLeastPage);

}  // namespace kernels::pages
