// How fast the memory of a problem can be read, by the probes' loops: what the main memory gives
// differs by place and moves from second to second where others use it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/buffer.hpp"

namespace kernels::stream {

using Region = std::span<const std::byte>;

template <class T>
Region region_of(const Buffer<T>& buffer) {
  return std::as_bytes(std::span<const T>(buffer.data(), static_cast<std::size_t>(buffer.size())));
}

/// Reads whole grains of the regions once, of more than 1 GB the same share of each. `loop` counts
/// the probes' loops that can run here. Every thread has a slice of each region, whose pieces it
/// shares with the others (shares.hpp): where cores are not equally fast to the memory, slices
/// alone wait for the slowest. Returns the bytes; 0: `loop` is beyond the last.
double read_regions(int loop, int threads, const std::vector<Region>& regions);

/// The same of a ring of `slots` that cold calls go through in turn: of slots that were left alone
/// long enough to be cold, and will have been again when their turn comes, as `next` is the next
/// call. A slot that is alone is far larger than the caches, and read whole.
double read_ring(int loop, int threads, std::int64_t next, std::int64_t slots,
                 const std::function<std::vector<Region>(std::int64_t slot)>& regions_of);

}  // namespace kernels::stream
