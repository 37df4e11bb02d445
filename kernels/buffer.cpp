#include "kernels/buffer.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/cpu_mask.hpp"
#include "kernels/l2_pages.hpp"

namespace kernels {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// Where this process may run, before any of its threads is pinned.
const CpuMask kAllowed = CpuMask::mine();

bool one_memory_node() {
  static const bool one = [] {
    std::error_code fault;
    return !std::filesystem::exists("/sys/devices/system/node/node1", fault);
  }();
  return one;
}

/// What small buffers share, given out from its beginning on. In pages of 4 KiB they lie in L2 as
/// it happens.
struct Block {
  std::shared_ptr<std::byte> memory;
  std::size_t taken = 0;

  /// Nothing where there is no room; what others have all given back is room.
  std::shared_ptr<std::byte> take(std::size_t bytes) {
    if (memory.use_count() == 1) taken = 0;
    if (taken + bytes > kHugePage) return nullptr;
    std::byte* const at = memory.get() + taken;
    taken += bytes;
    return {memory, at};
  }
};

/// The first small buffers lie where L2 holds them, a page for each CPU and two for what else there
/// is; more are for the main memory, or L3.
std::shared_ptr<std::byte> from_blocks(std::size_t bytes) {
  static std::mutex mutex;
  static std::vector<Block> near = [] {
    const int kept = std::clamp(kAllowed.count() + 2, 4, 16);
    std::vector<Block> blocks;
    for (auto& page : pages_for_l2(4 * kept + 8, kept)) blocks.push_back({std::move(page)});
    return blocks;
  }();
  static Block last;
  const std::lock_guard lock(mutex);
  for (Block& block : near)
    if (auto memory = block.take(bytes)) return memory;
  if (last.memory)
    if (auto memory = last.take(bytes)) return memory;
  last = {allocate_on(kHugePage, kHugePage)};
  return last.take(bytes);
}

}  // namespace

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  const std::size_t pages = std::max(rounded_up(bytes, kPage), kPage);
  if (kAddressSanitizer || !one_memory_node())
    return allocate_on(pages < kHugePage ? kPage : kHugePage, pages);
  return pages <= kHugePage ? from_blocks(pages) : allocate_on(kHugePage, pages);
}

void provide(std::byte* p, std::size_t bytes) {
  constexpr std::size_t kWorthThreads = std::size_t{64} << 20;
  if (bytes < kWorthThreads || !one_memory_node()) return;
  const auto threads = static_cast<std::size_t>(kAllowed.count());
  std::vector<std::jthread> team;
  for (std::size_t t = 0; t < threads; ++t) {
    team.emplace_back([=] {
      kAllowed.apply();
      const Slice pages = slice(static_cast<std::int64_t>(bytes / kPage), static_cast<int>(t),
                                static_cast<int>(threads));
      for (std::int64_t i = pages.begin; i < pages.end; ++i)
        *static_cast<volatile std::byte*>(p + i * kPage) = std::byte{0};
    });
  }
}

}  // namespace kernels
