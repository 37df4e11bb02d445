// The accesses of the bandwidth probe, and which sizes of them are timed and tested.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/op.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::stream {

struct Access {
  const char* name;
  int arrays;
  std::int64_t grain;
  bool (*has)(const Kernel&);
};
inline constexpr std::array<Access, 7> kAccesses = {{
    {"read", 1, kReadGrain, [](const Kernel& k) { return k.read != nullptr; }},
    {"write", 1, kGrain, [](const Kernel& k) { return k.write != nullptr; }},
    {"copy", 2, kGrain, [](const Kernel& k) { return k.copy != nullptr; }},
    {"triad", 3, kGrain, [](const Kernel& k) { return k.triad != nullptr; }},
    {"write_nt", 1, kGrain, [](const Kernel& k) { return k.write_nt != nullptr; }},
    {"copy_nt", 2, kGrain, [](const Kernel& k) { return k.copy_nt != nullptr; }},
    {"triad_nt", 3, kGrain, [](const Kernel& k) { return k.triad_nt != nullptr; }},
}};

/// Throws BadInput where there is no such access.
const Access& access_of(const Case& c);

/// A set of twice the L3 or more is a ring of parts, and a call goes through the next one: as cold
/// as all of it in a row, in milliseconds. A team goes through its threads' parts in pieces.
inline constexpr std::size_t kPart = std::size_t{4} << 20;  // bytes
inline constexpr std::int64_t kFewestParts = 8;

/// The suite on a machine with these caches.
std::vector<Case> cases(const Caches& caches);
/// Every access on sets that caches hold and on a ring, on 1 and 3 threads.
std::vector<Case> test_cases();

}  // namespace kernels::stream
