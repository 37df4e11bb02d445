// Byte models that the GPU sides share.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "kernels/op.hpp"

namespace kernels::cuda {

/// Traffic of kernels that read every byte once. L1 and shared memory are empty when a kernel
/// starts, so all of it comes from L2 at least; HBM only where the sets of all rotated calls
/// together exceed L2.
inline LevelBytes streaming_traffic(double bytes, double total_set, const Caches& caches) {
  LevelBytes t{.l1 = bytes, .l2 = bytes};
  if (caches.l2 > 0 && total_set > static_cast<double>(caches.l2)) t.dram = bytes;
  return t;
}

/// Input copies that a cold run rotates over: five times L2, so that a call finds nothing of the
/// one that used the same copy. A set of a hundred times L2 needs no second one: what is left of it
/// is below 1 %. `set` = bytes of one call's inputs.
inline std::int64_t cold_slots(double set, const Caches& caches) {
  const double l2 = static_cast<double>(std::max<std::int64_t>(caches.l2, std::int64_t{32} << 20));
  if (set >= 100 * l2) return 1;
  return std::max<std::int64_t>(2, static_cast<std::int64_t>(5 * l2 / set) + 1);
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
