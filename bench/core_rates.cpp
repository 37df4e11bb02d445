#include "bench/core_rates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

namespace bench {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

constexpr int kPairs = 5;     // of an add and a multiply window, neighbours in time
constexpr int kRounds = 800;  // of 64 adds, or of 128 multiplies

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Adds per second. Register operands: some cores execute an add of a constant while renaming, in
/// no time at all.
double add_rate() {
  std::uint64_t x = 0, one = 1;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one) : "cc");
#else
    asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(one));
#endif
  }
  return 64.0 * kRounds / seconds_since(start);
}

/// Multiplies per second in eight chains: latency x pipes of the cores in use. Only instructions
/// that every core of the architecture has.
double multiply_rate() {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector a{1, 1, 1, 1}, one = a;
  Vector b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
    asm volatile(
        ".rept 16\n\tmulps %8, %0\n\tmulps %8, %1\n\tmulps %8, %2\n\tmulps %8, %3\n\t"
        "mulps %8, %4\n\tmulps %8, %5\n\tmulps %8, %6\n\tmulps %8, %7\n\t.endr"
        : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h)
        : "x"(one));
#else
    asm volatile(
        ".rept 16\n\tfmul %0.4s, %0.4s, %8.4s\n\tfmul %1.4s, %1.4s, %8.4s\n\t"
        "fmul %2.4s, %2.4s, %8.4s\n\tfmul %3.4s, %3.4s, %8.4s\n\tfmul %4.4s, %4.4s, %8.4s\n\t"
        "fmul %5.4s, %5.4s, %8.4s\n\tfmul %6.4s, %6.4s, %8.4s\n\tfmul %7.4s, %7.4s, %8.4s\n\t.endr"
        : "+w"(a), "+w"(b), "+w"(c), "+w"(d), "+w"(e), "+w"(f), "+w"(g), "+w"(h)
        : "w"(one));
#endif
  }
  return 128.0 * kRounds / seconds_since(start);
}

}  // namespace

CoreRates core_rates() {
  std::array<double, kPairs> clock, issue;
  for (int i = 0; i < kPairs; ++i) {
    clock[i] = add_rate();
    issue[i] = multiply_rate() / clock[i];
  }
  std::sort(clock.begin(), clock.end());
  std::sort(issue.begin(), issue.end());
  return {clock[kPairs / 2], issue[kPairs / 2]};
}

#else

CoreRates core_rates() {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return {kUnknown, kUnknown};
}

#endif

}  // namespace bench
