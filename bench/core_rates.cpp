#include "bench/core_rates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

namespace bench {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

constexpr int kTurns = 5;     // of the three windows, neighbours in time
constexpr int kRounds = 800;  // of 64 adds, 132 multiplies, or 96 of both

#if defined(__x86_64__)
#define VECTOR(v) "+x"(v)
#define VECTOR_IN(v) "x"(v)
#else
#define VECTOR(v) "+w"(v)
#define VECTOR_IN(v) "w"(v)
#endif

using Clock = std::chrono::steady_clock;

/// What a reading of the clock takes: 20 ns, or a microsecond where it is a device's (hpet).
double reading_s() {
  static const double least = [] {
    Clock::duration least = Clock::duration::max();
    for (int i = 0; i < 15; ++i) {
      const auto first = Clock::now();
      least = std::min(least, Clock::now() - first);
    }
    return std::chrono::duration<double>(least).count();
  }();
  return least;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count() - reading_s();
}

/// Adds per second. Register operands: some cores execute an add of a constant while renaming, in
/// no time at all.
double add_rate() {
  std::uint64_t x = 0, one = 1;
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
    asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one) : "cc");
#else
    asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(one));
#endif
  }
  return 64.0 * kRounds / seconds_since(start);
}

/// Multiplies per second in twelve chains: as many as latency x pipes of the cores in use (Haswell
/// 5 x 2, Neoverse V1 and V2 3 x 4). Only instructions that every core of the architecture has.
double multiply_rate() {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector a{1, 1, 1, 1}, one = a;
  Vector b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a, k = a, l = a;
  const auto start = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
#if defined(__x86_64__)
#define STEP(x) "mulps %12, %" #x "\n\t"
#else
#define STEP(x) "fmul %" #x ".4s, %" #x ".4s, %12.4s\n\t"
#endif
    asm volatile(".rept 11\n\t" STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
                     STEP(8) STEP(9) STEP(10) STEP(11) ".endr"
                 : VECTOR(a), VECTOR(b), VECTOR(c), VECTOR(d), VECTOR(e), VECTOR(f), VECTOR(g),
                   VECTOR(h), VECTOR(i), VECTOR(j), VECTOR(k), VECTOR(l)
                 : VECTOR_IN(one));
#undef STEP
  }
  return 132.0 * kRounds / seconds_since(start);
}

/// Instructions per second, four adds to two multiplies, in twelve chains.
double dispatch_rate() {
  using Vector [[gnu::vector_size(16)]] = float;
  Vector a{1, 1, 1, 1}, one = a;
  Vector b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  std::uint64_t i = 0, j = 0, k = 0, l = 0, unit = 1;
  const auto start = Clock::now();
  for (int round = 0; round < kRounds; ++round) {
#if defined(__x86_64__)
#define PAIR(x, y)                     \
  "mulps %12, %" #x                    \
  "\n\tadd %13, %8\n\tadd %13, %9\n\t" \
  "mulps %12, %" #y "\n\tadd %13, %10\n\tadd %13, %11\n\t"
#else
#define PAIR(x, y)                                        \
  "fmul %" #x ".4s, %" #x                                 \
  ".4s, %12.4s\n\tadd %8, %8, %13\n\tadd %9, %9, %13\n\t" \
  "fmul %" #y ".4s, %" #y ".4s, %12.4s\n\tadd %10, %10, %13\n\tadd %11, %11, %13\n\t"
#endif
    asm volatile(".rept 4\n\t" PAIR(0, 1) PAIR(2, 3) PAIR(4, 5) PAIR(6, 7) ".endr"
                 : VECTOR(a), VECTOR(b), VECTOR(c), VECTOR(d), VECTOR(e), VECTOR(f), VECTOR(g),
                   VECTOR(h), "+r"(i), "+r"(j), "+r"(k), "+r"(l)
                 : VECTOR_IN(one), "r"(unit)
                 : "cc");
#undef PAIR
  }
  return 96.0 * kRounds / seconds_since(start);
}

template <std::size_t n>
double median(std::array<double, n> values) {
  std::sort(values.begin(), values.end());
  return values[n / 2];
}

}  // namespace

double clock_under(const kernels::fma_peak::Adds& adds) {
  constexpr int kWindows = 7;  // of each kind; a core takes up to three in all to change its clock
  const auto rate = [](void (*mix)()) {
    const auto start = Clock::now();
    mix();
    return static_cast<double>(kernels::fma_peak::kAdds) / seconds_since(start);
  };
  std::array<double, kWindows> dense, sparse;
  for (int i = 0; i < kWindows; ++i) {
    dense[i] = rate(adds.dense);
    sparse[i] = rate(adds.sparse != nullptr ? adds.sparse : adds.dense);
  }
  return std::max(median(dense), median(sparse));
}

CoreRates core_rates() {
  std::array<double, kTurns> clock, issue, dispatch;
  for (int i = 0; i < kTurns; ++i) {
    clock[i] = add_rate();
    issue[i] = multiply_rate() / clock[i];
    dispatch[i] = dispatch_rate() / clock[i];
  }
  return {median(clock), median(issue), median(dispatch)};
}

#else

double clock_under(const kernels::fma_peak::Adds&) {
  return std::numeric_limits<double>::quiet_NaN();
}

CoreRates core_rates() {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  return {kUnknown, kUnknown, kUnknown};
}

#endif

}  // namespace bench
