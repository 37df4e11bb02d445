#include "bench/affinity.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <strings.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "kernels/op.hpp"

namespace bench {
namespace {

/// Where that is refused, threads run where the kernel puts them, two perhaps on one core.
void keep_to(const kernels::CpuMask& mask) {
  static std::once_flag told;
  if (mask.apply()) return;
  const int error = errno;
  std::call_once(told, [error] {
    fmt::print(stderr, "threads cannot be pinned to CPUs ({}): figures may scatter\n",
               std::strerror(error));
  });
}

void pin(int cpu) {
  kernels::CpuMask mask;
  mask.add(cpu);
  keep_to(mask);
}

}  // namespace

void refuse_bound_threads() {
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && ::strcasecmp(value, "false") != 0) {
      throw kernels::BadInput(fmt::format(
          "{} is set, which hides this machine's CPUs: unset it; threads are pinned without it",
          name));
    }
  }
}

PinnedTeam::PinnedTeam(int threads, const std::vector<int>& cpus) : threads_(threads) {
  int given = 0;
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() == 0) given = omp_get_num_threads();
    if (!cpus.empty()) pin(cpus[omp_get_thread_num() % cpus.size()]);
  }
  if (given != threads) {
    throw kernels::BadInput(fmt::format(
        "{} threads are needed, OpenMP gives {} (OMP_THREAD_LIMIT, OMP_DYNAMIC)", threads, given));
  }
}

void PinnedTeam::run(const Work& work) const {
#pragma omp parallel num_threads(threads_)
  work(omp_get_thread_num());
}

ConfinedTeam::ConfinedTeam(int threads, const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  kernels::CpuMask mask;
  for (int i = 0; i < threads; ++i) mask.add(cpus[static_cast<std::size_t>(i) % cpus.size()]);
  keep_to(mask);
  std::error_code fault;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", fault))
    mask.apply(std::stoi(task.path().filename().string()));
}

void run_on_fresh_threads(int threads, const std::vector<int>& cpus, const Work& work) {
  enum Order { wait, go, leave };
  std::atomic<Order> order = wait;  // work may wait for all threads, so that all must be there
  std::vector<std::jthread> team;
  const auto tell = [&order](Order what) {
    order = what;
    order.notify_all();
  };
  try {
    for (int i = 0; i < threads; ++i) {
      team.emplace_back([&, i] {
        order.wait(wait);
        if (order == leave) return;
        if (!cpus.empty()) pin(cpus[static_cast<std::size_t>(i) % cpus.size()]);
        work(i);
      });
    }
  } catch (const std::system_error& e) {
    tell(leave);
    throw kernels::BadInput(
        fmt::format("{} threads are needed beside a library's, {} can be had: {}", threads,
                    team.size(), e.code().message()));
  }
  tell(go);
}

}  // namespace bench
