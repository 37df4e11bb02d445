// How a loop over memory asks for what it loads later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernels {
namespace {

/// Not at all: the hardware does.
struct Plain {
  static void ask(const void* /*line*/) {}
};

/// Asks for a line, into L2 (`kLocality` 3: L1), with `kPause` empty instructions behind: without
/// them requests fill what L1 has for misses, and loads wait for them.
template <int kPause, int kLocality = 2>
inline void ask_for(const void* line) {
  __builtin_prefetch(line, 0, kLocality);
  asm volatile(".rept %c0; nop; .endr" ::"i"(kPause));
}

/// For the line `kBytes` on.
template <int kPause, int kBytes = 2048, int kLocality = 2>
struct Ahead {
  static void ask(const void* line) {
    ask_for<kPause, kLocality>(static_cast<const std::byte*>(line) + kBytes);
  }
};
/// Into L1, with as many requests as loads.
using AheadIntoL1 = Ahead<0, 1024, 3>;

/// Bytes of a thread's set from which on asking pays: no core's L2 holds as many.
inline constexpr std::int64_t kAheadFrom = 4 << 20;
/// Where it fills L1 it pays as soon as L2 does not hold the set.
inline constexpr std::int64_t kAheadIntoL1From = 2 << 20;

}  // namespace
}  // namespace kernels
