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

/// For the line two kilobytes on.
template <int kPause>
struct Ahead {
  static void ask(const void* line) { ask_for<kPause>(static_cast<const std::byte*>(line) + 2048); }
};

/// Bytes of a thread's set from which on asking pays: no core's L2 holds as many.
inline constexpr std::int64_t kAheadFrom = 4 << 20;

}  // namespace
}  // namespace kernels
