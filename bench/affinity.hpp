// Where threads run.
#pragma once

#include <functional>
#include <vector>

#include "kernels/cpu_mask.hpp"

namespace bench {

/// What each thread of a team does; it is given its number.
using Work = std::function<void(int)>;

/// Gives the calling thread its mask back at the end of its life.
class KeptMask {
 public:
  KeptMask() : mask_(kernels::CpuMask::mine()) {}
  ~KeptMask() { mask_.apply(); }
  KeptMask(const KeptMask&) = delete;
  KeptMask& operator=(const KeptMask&) = delete;

 private:
  kernels::CpuMask mask_;
};

/// Throws kernels::BadInput where the environment had OpenMP's library bind this thread to one CPU
/// before it could be asked which ones there are.
void refuse_bound_threads();

/// Pins the calling thread and the OpenMP team of `threads` to one CPU each for as long as it
/// lives; the caller gets its old mask back at the end. libgomp and libomp keep a team's threads,
/// so pinned threads are those that a kernel's parallel region of the same size runs on.
class PinnedTeam {
 public:
  /// Throws kernels::BadInput if OpenMP gives fewer threads: the others would be waited for.
  PinnedTeam(int threads, const std::vector<int>& cpus);
  /// Work on all of its threads at the same time.
  void run(const Work& work) const;

 private:
  int threads_;
  KeptMask before_;
};

/// Keeps the process's threads and those that the calling one starts, as a library does its own
/// when it is loaded or first called, to as many CPUs as a PinnedTeam has: no two of them on one
/// core while another is idle. The calling thread gets its mask back at the end.
class ConfinedTeam {
 public:
  ConfinedTeam(int threads, const std::vector<int>& cpus);

 private:
  KeptMask before_;
};

/// PinnedTeam's work on threads of their own, pinned likewise, of which none is left at the end:
/// those of an OpenMP team would go on spinning for milliseconds beside the threads of a library.
/// Throws kernels::BadInput, and nothing is worked on, where the system does not give as many.
void run_on_fresh_threads(int threads, const std::vector<int>& cpus, const Work& work);

}  // namespace bench
