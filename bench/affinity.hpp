// Where threads run.
#pragma once

#include <sched.h>

#include <vector>

namespace bench {

/// Pins the calling thread and the OpenMP team of `threads` to one CPU each for as long as it
/// lives; the caller gets its old mask back at the end. libgomp and libomp keep a team's threads,
/// so pinned threads are those that a kernel's parallel region of the same size runs on.
class PinnedTeam {
 public:
  PinnedTeam(int threads, const std::vector<int>& cpus);
  ~PinnedTeam();
  PinnedTeam(const PinnedTeam&) = delete;
  PinnedTeam& operator=(const PinnedTeam&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace bench
