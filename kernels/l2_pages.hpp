// Memory that L2 can hold.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace kernels {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// `bytes`, rounded up, on a boundary; on one of kHugePage asks for huge pages. Not touched. Throws
/// std::bad_alloc.
std::shared_ptr<std::byte> allocate_on(std::size_t boundary, std::size_t bytes);

/// Of `tried` blocks of kHugePage the `kept` whose lines are least in each other's way in L2: which
/// of its sets they share depends on where they lie, and a virtual machine has pages that its host
/// has put together from smaller ones, anywhere. A core of Zen 5 reads 640 KB of 1 MB of L2 in 2.3
/// to 4.1 us, of a page always about the same. The best first; none where the size of L2 is not
/// known. Throws std::bad_alloc.
std::vector<std::shared_ptr<std::byte>> pages_for_l2(int tried, int kept);

}  // namespace kernels
