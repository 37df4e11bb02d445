// What the cores give in the moment beside a sample, without a look at the sample itself.
#pragma once

namespace bench {

/// A window of some 150 us on a team's cores, all of them at the same time. NaN: not known.
struct Window {
  /// Hz, mean over the cores: the rate of dependent adds, one per cycle on every core in use.
  double clock_hz;
  /// Independent 16-byte multiplies per cycle on the core that gives fewest of them. It halves when
  /// two virtual CPUs share a core, and falls when the thread is preempted.
  double issue_per_cycle;
  /// bytes/s that all cores together read of lines flushed to memory.
  double memory_bytes_per_s;
};

/// Seconds that the process's threads have been ready to run and found their CPU taken, summed over
/// them; NaN where the kernel does not tell.
double waited_for_cpu_s();

/// Observes the cores of an OpenMP team of `threads`, which the caller has pinned. Memory is looked
/// at only if asked: it takes another 1 to 2 ms.
Window observe(int threads, bool memory);

}  // namespace bench
