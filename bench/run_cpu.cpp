#include "bench/run_cpu.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

#include "bench/affinity.hpp"
#include "bench/clock.hpp"
#include "bench/counters.hpp"

namespace bench {
namespace {

/// The fastest of three, so that one preempted run does not end the calibration early.
double seconds(kernels::Problem& problem, std::int64_t count) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    problem.run(0, count);
    const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
    best = std::min(best, t.count());
    if (best > 1e-3) break;
  }
  return best;
}

/// Calls in a row that take about 200 us, so that neither the timer's loop nor, where a kernel
/// keeps its threads for the whole batch, the parallel region (about 1 us) weighs on short calls.
std::int64_t calibrate(kernels::Problem& problem) {
  std::int64_t batch = 1;
  while (batch < std::int64_t{1} << 24 && seconds(problem, batch) < 200e-6) batch *= 2;
  return batch;
}

}  // namespace

void run_cpu(benchmark::State& state, const Entry& entry, ProblemCache& cache,
             const kernels::Caches& caches, const std::vector<int>& cpus) {
  // A library makes its own threads, which inherit this thread's mask: it must not be pinned.
  std::unique_ptr<PinnedTeam> team;
  if (!entry.kernel->library()) team = std::make_unique<PinnedTeam>(entry.instance.threads, cpus);

  Bound* bound = nullptr;
  try {
    bound = &cache.get(entry, caches);
  } catch (const kernels::BadInput& e) {
    state.SkipWithError(e.what());
    return;
  } catch (const std::bad_alloc&) {
    state.SkipWithError("out of memory");
    return;
  }
  if (!bound->wrong.empty()) {
    state.SkipWithError(("wrong result: " + bound->wrong).c_str());
    return;
  }
  auto& problem = *bound->problem;
  if (bound->next_call == 0) bound->batch = calibrate(problem);
  problem.run(bound->next_call++, 1);

  const double clock_before = observed_clock_hz();
  while (state.KeepRunningBatch(bound->batch)) {
    problem.run(bound->next_call, bound->batch);
    bound->next_call += bound->batch;
  }
  const double clock = (clock_before + observed_clock_hz()) / 2;
  set_counters(state, problem, clock, false);
  state.SetLabel(base_label(problem, false));
}

}  // namespace bench
