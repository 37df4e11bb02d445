#include "bench/window.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <vector>

#include "bench/core_rates.hpp"
#include "kernels/buffer.hpp"

namespace bench {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kLine = 64;
constexpr std::size_t kFlushed = 2 << 20;  // bytes a thread: a few hundred us of reading

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
/// Flushes lines in any order: forty times as fast as one after the other.
bool has_clflushopt() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 23 & 1) != 0;
}
#endif

void flush(const std::byte* begin, std::size_t bytes) {
#if defined(__x86_64__)
  static const bool any_order = has_clflushopt();
  for (std::size_t at = 0; at < bytes; at += kLine) {
    if (any_order)
      asm volatile("clflushopt %0" ::"m"(begin[at]) : "memory");
    else
      __builtin_ia32_clflush(begin + at);
  }
#else
  for (std::size_t at = 0; at < bytes; at += kLine)
    asm volatile("dc civac, %0" ::"r"(begin + at) : "memory");
#endif
}

double memory_rate(int threads, const Team& team) {
  static std::shared_ptr<std::byte> block;
  static int owners = 0;
  if (threads > owners) {
    block = kernels::allocate(kFlushed * static_cast<std::size_t>(threads));
    team([&](int thread) {
      std::fill_n(block.get() + kFlushed * static_cast<std::size_t>(thread), kFlushed,
                  std::byte{1});
    });
    owners = threads;
  }
  std::byte* const base = block.get();
  std::vector<std::chrono::steady_clock::time_point> starts(static_cast<std::size_t>(threads));
  std::chrono::steady_clock::time_point end;
  std::atomic<std::uint64_t> total = 0;
  std::barrier all(threads);
  team([&](int thread) {
    std::byte* const mine = base + kFlushed * static_cast<std::size_t>(thread);
    flush(mine, kFlushed);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    all.arrive_and_wait();
    starts[static_cast<std::size_t>(thread)] = std::chrono::steady_clock::now();
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < kFlushed; at += kLine)
      sum += static_cast<std::uint64_t>(*static_cast<volatile std::byte*>(mine + at));
    total += sum;
    all.arrive_and_wait();
    if (thread == 0) end = std::chrono::steady_clock::now();
  });
  const double bytes = static_cast<double>(total) * kLine;
  const auto start = *std::min_element(starts.begin(), starts.end());
  return bytes / std::chrono::duration<double>(end - start).count();
}

/// A line that two threads hand each other. More threads than CPUs may wait for long: they give up.
class Ball {
 public:
  /// Seconds a round of side 0 or 1, of both at the same time; up to when it was given up.
  double play(int side) {
    constexpr int kRounds = 64;
    constexpr std::chrono::milliseconds kLongest{1};
    const auto start = std::chrono::steady_clock::now();
    const auto a_round = [&](int rounds) {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
             rounds;
    };
    for (int round = 0; round < kRounds; ++round) {
      for (int looks = 1; at_.load(std::memory_order_acquire) != 2 * round + side; ++looks) {
        if (lost_.load(std::memory_order_relaxed)) return a_round(round + 1);
        if (looks % 256 == 0 && std::chrono::steady_clock::now() - start > kLongest) lost_ = true;
      }
      at_.store(2 * round + side + 1, std::memory_order_release);
    }
    return a_round(kRounds);
  }

 private:
  alignas(2 * kLine) std::atomic<int> at_ = 0;
  alignas(2 * kLine) std::atomic<bool> lost_ = false;
};

double handover(int threads, const Team& team) {
  constexpr std::size_t kGoes = 3;  // the fastest counts: an interrupt spoils one
  const auto pairs = static_cast<std::size_t>(threads / 2);
  std::vector<Ball> balls(kGoes * pairs);
  std::vector<double> least(pairs, kUnknown);
  std::barrier all(threads);
  team([&](int thread) {
    const auto pair = static_cast<std::size_t>(thread / 2);
    for (std::size_t go = 0; go < kGoes; ++go) {
      all.arrive_and_wait();
      if (pair == pairs) continue;
      const double time = balls[go * pairs + pair].play(thread % 2);
      if (thread % 2 == 0) least[pair] = std::fmin(least[pair], time);
    }
  });
  double sum = 0;
  for (const double time : least) sum += time;
  return sum / static_cast<double>(pairs);
}

}  // namespace

Window observe(int threads, const Team& team, bool memory, const Adds& adds) {
  std::vector<CoreRates> cores(threads);
  std::barrier all(threads);
  team([&](int thread) {
    all.arrive_and_wait();
    const double clock_hz = adds.dense != nullptr ? clock_under(adds) : kUnknown;
    CoreRates& core = cores[static_cast<std::size_t>(thread)];
    core = core_rates();
    if (adds.dense != nullptr) core.clock_hz = clock_hz;
  });
  Window out{0, cores[0].issue_per_cycle, 0, kUnknown, kUnknown};
  for (const CoreRates& core : cores) {
    out.clock_hz += core.clock_hz / threads;
    out.issue_per_cycle = std::min(out.issue_per_cycle, core.issue_per_cycle);
    out.dispatch_per_cycle += core.dispatch_per_cycle / threads;
  }
  if (memory) out.memory_bytes_per_s = memory_rate(threads, team);
  if (threads > 1) out.handover_s = handover(threads, team);
  return out;
}

#else

}  // namespace

Window observe(int, const Team&, bool, const Adds&) {
  return {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
}

#endif

CpuWaits cpu_waits(const std::filesystem::path& tasks) {
  CpuWaits out;
  std::error_code fault;
  for (const auto& task : std::filesystem::directory_iterator(tasks, fault)) {
    double ran_ns = 0, delay_ns = 0;
    // A thread may have ended meanwhile; the kernel may have no such file of any.
    if (std::ifstream file(task.path() / "schedstat"); file >> ran_ns >> delay_ns)
      out[task.path().filename().string()] = 1e-9 * delay_ns;
  }
  return out;
}

double waited_since_s(const CpuWaits& before, const CpuWaits& now) {
  if (now.empty()) return kUnknown;
  double waited = 0;
  for (const auto& [thread, seconds] : now) {
    const auto earlier = before.find(thread);
    waited += seconds - (earlier != before.end() ? earlier->second : 0);
  }
  return waited;
}

}  // namespace bench
