#include "bench/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

namespace bench {
namespace {

constexpr int kBlock = 64, kBlocks = 5000;

/// Register operands: some cores execute an add of a constant while renaming, in no time at all.
inline void dependent_adds() {
#if defined(__x86_64__)
  unsigned long long x = 0, one = 1;
  for (int i = 0; i < kBlocks; ++i)
    asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one) : "cc");
#elif defined(__aarch64__)
  unsigned long long x = 0, one = 1;
  for (int i = 0; i < kBlocks; ++i)
    asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(x) : "r"(one));
#endif
}

}  // namespace

double observed_clock_hz() {
#if defined(__x86_64__) || defined(__aarch64__)
  std::array<double, 5> hz;
  for (auto& h : hz) {
    const auto start = std::chrono::steady_clock::now();
    dependent_adds();
    const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
    h = double{kBlock} * kBlocks / t.count();
  }
  std::nth_element(hz.begin(), hz.begin() + 2, hz.end());
  return hz[2];
#else
  return std::numeric_limits<double>::quiet_NaN();
#endif
}

}  // namespace bench
