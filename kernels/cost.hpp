// Byte models that several operations share. Formulas: the roofline model's 'bytes that really
// cross a level'; write-allocate traffic is not counted anywhere in this project.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "kernels/op.hpp"

namespace kernels {

/// A set of which no cache holds a part that matters, where none is known; cold_footprint() is
/// twice as large.
inline constexpr double kInNoCache = 128 << 20;

/// The share of a set, read again and again, that comes from behind a cache: unknown where the
/// cache holds it or is not known. Up to twice its size the least, what does not fit: none forgets
/// strictly in the order of use, and two cores' 4.2 MB of keys and values came from 2 MB of L2 each
/// at 1.44 times what L3 gives (Emerald Rapids). A larger set is not found there in time.
inline double share_beyond(double set, double cache) {
  if (cache <= 0 || set <= cache) return kUnknown;
  return set < 2 * cache ? 1 - cache / set : 1;
}

/// Of what a call moves at each level, `all`, that of the levels up to the one that holds the
/// working set; NaN beyond. `per_core_set` is one core's share of the set, `total_set` all of it;
/// bytes. An L3 holds what the L2s do not: it is a victim cache on Zen and on Xeons since Skylake.
/// Of a machine that tells of no caches, what surely fits none comes from memory.
inline LevelBytes crossed(const LevelBytes& all, double per_core_set, double total_set,
                          const Caches& caches) {
  LevelBytes t{.l1 = all.l1};
  const auto l2 = static_cast<double>(caches.l2), l3 = static_cast<double>(caches.l3);
  const double l2s =
      caches.l2_all > 0 ? static_cast<double>(caches.l2_all) : l2 * (total_set / per_core_set);
  const bool known = caches.l1d > 0 || l2 > 0 || l3 > 0;
  t.l2 = all.l2 * share_beyond(per_core_set, static_cast<double>(caches.l1d));
  if (l3 > 0) t.l3 = all.l3 * share_beyond(per_core_set, l2);
  t.dram = all.dram * share_beyond(total_set, known ? l3 + l2s : kInNoCache);
  return t;
}

/// Traffic of a call that reads every byte once, in order.
inline LevelBytes streaming_traffic(double bytes, double per_core_set, double total_set,
                                    const Caches& caches) {
  return crossed({.l1 = bytes, .l2 = bytes, .l3 = bytes, .dram = bytes}, per_core_set, total_set,
                 caches);
}

/// Bytes of L3 that each of `threads` threads can count on.
inline std::int64_t sure_l3(const Caches& caches, int threads) {
  const std::int64_t share = caches.l3 / threads;
  return caches.l2 > 0 ? std::min(share, kSureL3PerL2 * caches.l2) : share;
}

/// Bytes of the level that holds most: on some servers all L2s together, where there is an L3 too.
inline std::int64_t largest_level(const Caches& caches) {
  return std::max(caches.l3, caches.l2 * caches.cores);
}

/// Bytes that a cold run must rotate over so that nothing of one call is left for the next one.
inline std::int64_t cold_footprint(const Caches& caches) {
  return std::max(4 * largest_level(caches), std::int64_t{256} << 20);
}

/// Why a case that the list holds is left out here, in the same words for all of them.
inline std::string too_large_for(const Caches& caches) {
  return "needs more memory than there is: this process may use " +
         std::to_string(caches.memory / 1000000) + " MB";
}

inline std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MB", std::floor(bytes / 1e6));
  return text;
}

/// Throws BadInput if `bytes` of buffers would not fit into what the process may use.
inline void require_memory(double bytes, const Caches& caches) {
  if (caches.memory > 0 && bytes > 0.8 * static_cast<double>(caches.memory))
    throw BadInput("shape: needs " + megabytes(bytes) + ", this process may use " +
                   megabytes(0.8 * static_cast<double>(caches.memory)));
}

}  // namespace kernels
