#include "bench/window.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/buffer.hpp"

namespace bench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kPairs = 5;     // of an add and a multiply window, neighbours in time
constexpr int kRounds = 800;  // of 64 adds, or of 128 multiplies
constexpr std::size_t kLine = 64;
constexpr std::size_t kFlushed = 2 << 20;  // bytes a thread: a few hundred us of reading

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

#if defined(__x86_64__) || defined(__aarch64__)

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

void flush(const std::byte* line) {
#if defined(__x86_64__)
  __builtin_ia32_clflush(line);
#else
  asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
}

struct CoreRates {
  double clock_hz, issue_per_cycle;
};

/// Medians: an interrupt spoils one pair, a shared core all of them.
CoreRates rates_of_this_core() {
  std::array<double, kPairs> clock, issue;
  for (int i = 0; i < kPairs; ++i) {
    clock[i] = add_rate();
    issue[i] = multiply_rate() / clock[i];
  }
  std::sort(clock.begin(), clock.end());
  std::sort(issue.begin(), issue.end());
  return {clock[kPairs / 2], issue[kPairs / 2]};
}

double memory_rate(int threads) {
  static std::shared_ptr<std::byte> block;
  static int owners = 0;
  if (threads > owners) {
    block = kernels::allocate(kFlushed * static_cast<std::size_t>(threads));
    owners = threads;
  }
  std::byte* const base = block.get();
  std::chrono::steady_clock::time_point start, end;
  std::uint64_t total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total)
  {
    std::byte* const mine = base + kFlushed * static_cast<std::size_t>(omp_get_thread_num());
    for (std::size_t at = 0; at < kFlushed; at += kLine) {
      mine[at] = std::byte{1};
      flush(mine + at);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#pragma omp barrier
#pragma omp master
    start = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < kFlushed; at += kLine)
      total += static_cast<std::uint64_t>(*static_cast<volatile std::byte*>(mine + at));
#pragma omp barrier
#pragma omp master
    end = std::chrono::steady_clock::now();
  }
  const double bytes = static_cast<double>(total) * kLine;
  return bytes / std::chrono::duration<double>(end - start).count();
}

}  // namespace

double waited_for_cpu_s() {
  double waited_ns = 0;
  std::error_code fault;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", fault)) {
    double ran_ns = 0, delay_ns = 0;
    // A thread may have ended meanwhile; the kernel may have no such file.
    if (std::ifstream file(task.path() / "schedstat"); file >> ran_ns >> delay_ns)
      waited_ns += delay_ns;
  }
  return fault ? kUnknown : 1e-9 * waited_ns;
}

Window observe(int threads, bool memory) {
  std::vector<CoreRates> cores(threads);
#pragma omp parallel num_threads(threads)
  cores[omp_get_thread_num()] = rates_of_this_core();
  Window out{0, cores[0].issue_per_cycle, kUnknown};
  for (const CoreRates& core : cores) {
    out.clock_hz += core.clock_hz / threads;
    out.issue_per_cycle = std::min(out.issue_per_cycle, core.issue_per_cycle);
  }
  if (memory) out.memory_bytes_per_s = memory_rate(threads);
  return out;
}

#else

}  // namespace

Window observe(int, bool) { return {kUnknown, kUnknown, kUnknown}; }

#endif

}  // namespace bench
