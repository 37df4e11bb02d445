// The CPUs that a thread may run on.
#pragma once

#include <sched.h>

#include <array>
#include <cstddef>

namespace kernels {

/// Room for any kernel's CPUs: one with more than the 1024 of a cpu_set_t refuses to fill that.
class CpuMask {
 public:
  /// The calling thread's; empty if it cannot be read.
  static CpuMask mine() {
    CpuMask mask;
    if (sched_getaffinity(0, sizeof mask.sets_, mask.sets_.data()) != 0) return {};
    return mask;
  }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), sizeof sets_, sets_.data()); }
  int count() const { return CPU_COUNT_S(sizeof sets_, sets_.data()); }
  /// Moves a thread there, the calling one if 0; false, with errno set, where that is refused.
  bool apply(pid_t thread = 0) const {
    return sched_setaffinity(thread, sizeof sets_, sets_.data()) == 0;
  }

 private:
  std::array<cpu_set_t, 64> sets_{};
};

}  // namespace kernels
