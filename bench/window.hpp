// What the cores give in the moment beside a sample, without a look at the sample itself.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "bench/affinity.hpp"
#include "kernels/fma_peak/fma_peak.hpp"

namespace bench {

/// A window of some 200 us, 400 with adds, on a team's cores, all of them at the same time. NaN:
/// not known.
struct Window {
  /// Hz, mean over the cores: the rate of dependent adds, one per cycle on every core in use, among
  /// the instructions of the unit that the work is for.
  double clock_hz;
  /// Independent 16-byte multiplies per cycle on the core that gives fewest of them. It halves when
  /// two virtual CPUs share a core, and falls when the thread is preempted.
  double issue_per_cycle;
  /// Independent multiplies and adds per cycle, mean over the cores. It falls also where the other
  /// virtual CPU does not multiply.
  double dispatch_per_cycle;
  /// bytes/s that all cores together read of lines flushed to memory.
  double memory_bytes_per_s;
  /// Seconds that a line takes to another core and back, mean over pairs of neighbours. Virtual
  /// CPUs that their host puts on two last caches take six times as long as on one (Zen 4). Where
  /// the other side does not come within a millisecond, up to then; NaN of one core.
  double handover_s;
};

/// Seconds that threads have been ready to run and found their CPU taken, by thread.
using CpuWaits = std::map<std::string, double>;

/// Of the process's threads that are there now; empty where the kernel does not tell. `tasks` is
/// for tests.
CpuWaits cpu_waits(const std::filesystem::path& tasks = "/proc/self/task");

/// Seconds that those that are there `now` have waited since, summed over them; NaN of none.
double waited_since_s(const CpuWaits& before, const CpuWaits& now);

/// Has work done on all threads of a pinned team at the same time.
using Team = std::function<void(const Work&)>;

using kernels::fma_peak::Adds;

/// Observes the cores of a team of `threads`. Memory is looked at only if asked: it takes another
/// 1 to 2 ms. `adds` are those of the unit, none where it leaves the clock alone.
Window observe(int threads, const Team& team, bool memory, const Adds& adds);

}  // namespace bench
