#include "kernels/l2_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace kernels {
namespace {

constexpr std::size_t kLine = 64;

/// Seconds of the fastest of some passes over a line each.
double seconds_to_read(const std::byte* from, std::size_t bytes) {
  constexpr int kPasses = 5;
  double least = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < bytes; at += kLine)
      static_cast<void>(*static_cast<const volatile std::byte*>(from + at));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count());
  }
  return least;
}

/// In parts that L2 has room for, but for what pages elsewhere would take of it.
double seconds_by_parts(const std::byte* page, std::size_t l2) {
  const std::size_t part = l2 / 4 * 3;
  double all = 0;
  for (std::size_t at = 0; at < kHugePage; at += part)
    all += seconds_to_read(page + at, std::min(part, kHugePage - at));
  return all;
}

}  // namespace

std::shared_ptr<std::byte> allocate_on(std::size_t boundary, std::size_t bytes) {
  const std::size_t rounded = (bytes + boundary - 1) / boundary * boundary;
  void* p = std::aligned_alloc(boundary, rounded);
  if (p == nullptr) throw std::bad_alloc();
  if (boundary == kHugePage) madvise(p, rounded, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(p), [](std::byte* q) { std::free(q); }};
}

std::vector<std::shared_ptr<std::byte>> pages_for_l2(int tried, int kept) {
  const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l2 <= 0) return {};
  std::vector<std::pair<double, std::shared_ptr<std::byte>>> pages;
  for (int i = 0; i < tried; ++i) {
    pages.emplace_back(0, allocate_on(kHugePage, kHugePage));
    std::memset(pages.back().second.get(), 0, kHugePage);
  }
  for (auto& [seconds, page] : pages)
    seconds = seconds_by_parts(page.get(), static_cast<std::size_t>(l2));
  std::stable_sort(pages.begin(), pages.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::shared_ptr<std::byte>> best;
  for (auto& [seconds, page] : pages)
    if (static_cast<int>(best.size()) < kept) best.push_back(std::move(page));
  return best;
}

}  // namespace kernels
