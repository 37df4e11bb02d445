#include "bench/affinity.hpp"

#include <omp.h>

namespace bench {
namespace {

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

PinnedTeam::PinnedTeam(int threads, const std::vector<int>& cpus) {
  sched_getaffinity(0, sizeof before_, &before_);
  if (cpus.empty()) return;
#pragma omp parallel num_threads(threads)
  pin(cpus[omp_get_thread_num() % cpus.size()]);
}

PinnedTeam::~PinnedTeam() { sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace bench
