// Byte models that the GPU sides share.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "kernels/op.hpp"

namespace kernels::cuda {

/// Traffic of kernels that read every byte once. L1 and shared memory are empty when a kernel
/// starts, so all of it comes from L2 at least; from HBM all where the sets of all rotated calls
/// together are five times L2, as cold ones are at least. A chip that reads the same again and
/// again finds up to twice L2's size of it there: between two and five times the rest is what HBM
/// gives at least.
inline LevelBytes streaming_traffic(double bytes, double total_set, const Caches& caches) {
  LevelBytes t{.l1 = bytes, .l2 = bytes};
  const double l2 = static_cast<double>(caches.l2);
  if (caches.l2 > 0 && total_set > 2 * l2)
    t.dram = total_set >= 5 * l2 ? bytes : bytes * (1 - 2 * l2 / total_set);
  return t;
}

/// Working sets of so many times L2 find less than 2 % of themselves in it. Five times are not
/// enough: L2 does not forget in the order of use, and an H200 that read 1 and 2 GiB again and
/// again got what was some 110 MB of each from its 60 MB.
constexpr double kBeyondL2 = 100;

/// Input copies that a cold run rotates over, so that a call finds nothing of the one that used the
/// same copy: kBeyondL2 times L2, or as near as a third of the memory and 512 copies come, but at
/// least five times L2. `set` = bytes of one call's inputs.
inline std::int64_t cold_slots(double set, const Caches& caches) {
  const double l2 = static_cast<double>(std::max<std::int64_t>(caches.l2, std::int64_t{32} << 20));
  if (set >= kBeyondL2 * l2) return 1;
  const double memory = caches.memory > 0 ? static_cast<double>(caches.memory) / 3 : kBeyondL2 * l2;
  const double most = std::min({std::ceil(kBeyondL2 * l2 / set), 512.0, memory / set});
  return static_cast<std::int64_t>(std::max({2.0, std::floor(5 * l2 / set) + 1, most}));
}

/// Two sizes of a sweep that lie well inside L2: `usual`, the larger one last, where both are
/// within half of it, else a quarter and three eighths of it. Chips for graphics have 3 MB and up,
/// slices (MIG) a part.
inline std::array<std::int64_t, 2> sizes_in_l2(std::array<std::int64_t, 2> usual,
                                               const Caches& caches) {
  constexpr std::int64_t kGrain = 64 << 10;
  if (caches.l2 == 0 || 2 * usual[1] <= caches.l2) return usual;
  return {std::max(kGrain, caches.l2 / 4 / kGrain * kGrain),
          std::max(kGrain, caches.l2 * 3 / 8 / kGrain * kGrain)};
}

/// A size of a sweep beyond L2, `times` the least that is; whole 64 MB.
inline std::int64_t size_beyond_l2(double times, const Caches& caches) {
  constexpr std::int64_t kGrain = std::int64_t{64} << 20;
  const double l2 = static_cast<double>(std::max<std::int64_t>(caches.l2, std::int64_t{32} << 20));
  return static_cast<std::int64_t>(std::ceil(times * kBeyondL2 * l2 / kGrain)) * kGrain;
}

/// Empty if `bytes` of device memory can be had, else why not.
inline std::string device_memory_missing(double bytes, const Caches& caches) {
  const double usable = 0.9 * static_cast<double>(caches.memory);
  if (caches.memory == 0 || bytes <= usable) return {};
  return "needs " + std::to_string(static_cast<std::int64_t>(bytes / 1e6)) + " MB, this GPU has " +
         std::to_string(static_cast<std::int64_t>(usable / 1e6)) + " MB free";
}

/// Throws BadInput if `bytes` of device memory are more than there is.
inline void require_device_memory(double bytes, const Caches& caches) {
  if (const auto why = device_memory_missing(bytes, caches); !why.empty())
    throw BadInput("shape: " + why);
}

}  // namespace kernels::cuda
