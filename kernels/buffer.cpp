#include "kernels/buffer.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <thread>
#include <vector>

namespace kernels {
namespace {

constexpr std::size_t kPage = 4096;

/// Where this process may run, before any of its threads is pinned.
const cpu_set_t kAllowed = [] {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}();

bool one_memory_node() {
  std::error_code fault;
  return !std::filesystem::exists("/sys/devices/system/node/node1", fault);
}

}  // namespace

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHuge ? kHuge : kPage;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  if (bytes >= kHuge) madvise(p, rounded, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

void provide(std::byte* p, std::size_t bytes) {
  constexpr std::size_t kWorthThreads = std::size_t{64} << 20;
  static const bool one_node = one_memory_node();
  if (bytes < kWorthThreads || !one_node) return;
  const auto threads = static_cast<std::size_t>(CPU_COUNT(&kAllowed));
  std::vector<std::jthread> team;
  for (std::size_t t = 0; t < threads; ++t) {
    team.emplace_back([=] {
      sched_setaffinity(0, sizeof kAllowed, &kAllowed);
      const Slice pages = slice(static_cast<std::int64_t>(bytes / kPage), static_cast<int>(t),
                                static_cast<int>(threads));
      for (std::int64_t i = pages.begin; i < pages.end; ++i)
        *static_cast<volatile std::byte*>(p + i * kPage) = std::byte{0};
    });
  }
}

}  // namespace kernels
