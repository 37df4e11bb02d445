#include "kernels/stream/stream_cases.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>

#include "kernels/cost.hpp"

namespace kernels::stream {
namespace {

Case make_case(const char* access, std::int64_t size, int threads, bool quick) {
  return {.dtype = "f32",
          .keys = {{"access", access}, {"size", std::to_string(size)}},
          .threads = threads,
          .quick = quick};
}

/// A size a thread, in bytes, and how many of the quick suite's sizes in its level come before it;
/// kFullOnly for what only the full suite has, kReadsOnly for what it has of reads only.
struct Size {
  std::int64_t bytes;
  int rank;
};
constexpr int kFullOnly = 98, kReadsOnly = 99;

/// Three sizes inside each level, and a geometric sweep for the full suite, coarser where a pass
/// takes long. L3 and DRAM sets are shared out over the threads; those of L3 are twice as large as
/// L2, and there are none where a thread's share of L3 has no room for that. Reads get a fourth in
/// L2: a core of Zen 5 reaches its full rate from 0.38 of L2 on and, where pages lie badly, has
/// lost it again at 0.75.
std::vector<Size> sizes(const Caches& caches, int threads) {
  constexpr std::int64_t kGrain = 3072;
  const auto grain = [](double bytes) {
    return static_cast<std::int64_t>(bytes) / kGrain * kGrain;
  };
  std::vector<Size> all;
  const double last = static_cast<double>(cold_footprint(caches)) / threads;
  const auto l3 = static_cast<double>(sure_l3(caches, threads));
  const double least_l3 = static_cast<double>(2 * caches.l2 + kGrain), most_l3 = 0.75 * l3;
  int rank = 0;
  for (const double part : {0.375, 0.5, 0.75}) {
    all.push_back({grain(part * caches.l1d), rank});
    all.push_back({grain(part * caches.l2), rank});
    const double even = least_l3 + rank * (most_l3 - least_l3) / 2;
    if (least_l3 <= most_l3) all.push_back({grain(std::max(part * l3, even)), rank});
    all.push_back({grain((0.83 + part / 2) * last), rank});
    ++rank;
  }
  all.push_back({grain(0.625 * caches.l2), rank - 1});
  constexpr std::int64_t kWhole = 6144;  // bytes that every access divides into its steps
  constexpr double kStep = 1.35;
  int step = 0;
  for (double size = 6144; size < 2 * last; ++step) {
    const std::int64_t whole = static_cast<std::int64_t>(size) / kWhole * kWhole;
    all.push_back({whole, step % 3 == 0 ? kFullOnly : kReadsOnly});
    size *= size < 4 * l3 ? kStep : kStep * kStep;
  }
  std::erase_if(all, [](const Size& s) { return s.bytes == 0; });
  std::sort(all.begin(), all.end(), [](const Size& a, const Size& b) {
    return std::tie(a.bytes, a.rank) < std::tie(b.bytes, b.rank);
  });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Size& a, const Size& b) { return a.bytes == b.bytes; }),
            all.end());
  return all;
}

}  // namespace

const Access& access_of(const Case& c) {
  const std::string name = c.text("access");
  for (const auto& access : kAccesses)
    if (name == access.name) return access;
  throw BadInput("shape: access:" + name +
                 " (known: read, write, copy, triad, write_nt, copy_nt, triad_nt)");
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  for (const int threads : {1, caches.cores}) {
    for (const auto& [size, rank] : sizes(caches, threads))
      for (const auto& access : kAccesses) {
        const std::string_view name = access.name;
        if (name.ends_with("_nt") && size * threads <= largest_level(caches)) continue;
        // Reads are the roofs; of the others two sizes are enough to see a plateau, and a coarser
        // sweep to see where it ends.
        if (rank == kReadsOnly && name != "read") continue;
        const bool quick = rank < (name == "read" ? 3 : 2);
        all.push_back(make_case(access.name, size, threads, quick));
      }
    if (caches.cores == 1) break;
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  constexpr std::int64_t kRing = (kFewestParts + 1) * std::int64_t{kPart};
  for (const auto& access : kAccesses) {
    for (const std::int64_t size : {3072, 6144, 15360, 98304})
      for (const int threads : {1, 3}) all.push_back(make_case(access.name, size, threads, false));
    for (const int threads : {1, 3}) all.push_back(make_case(access.name, kRing, threads, false));
  }
  return all;
}

}  // namespace kernels::stream
