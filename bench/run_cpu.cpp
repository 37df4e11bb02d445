#include "bench/run_cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "bench/affinity.hpp"
#include "bench/calibrate.hpp"
#include "bench/counters.hpp"
#include "bench/part_clock.hpp"
#include "bench/rest.hpp"
#include "bench/window.hpp"
#include "kernels/fma_peak/fma_peak.hpp"
#include "roofline/base/bench_words.hpp"

namespace bench {
namespace {

/// Batches of short calls in one run(), as kernels that keep their threads for all calls of a run()
/// begin and end with a parallel region: in runs of 200 us it takes 1.2 % of the peak on four
/// cores. Calibrating to as many calls would take longer than the samples.
constexpr std::int64_t kBatchesAtATime = 5;

/// Calls that come by all of the problem's set, where each thread's load brings a line at least.
double calls_for_all(const kernels::Problem& problem, int threads) {
  constexpr double kLine = 64;
  const double set = problem.working_set_bytes();
  return std::isnan(set) ? 1 : set / std::max(problem.cost().bytes, kLine * threads);
}

/// A set that a cache shall hold comes by once, and several times within bounds: an L3 may take up
/// what L2 drops only once it has been asked for again. Where calls read line by line it does so
/// before, in order: in a random one the first times take as long as memory does (an L3 of Zen 5
/// that others have filled: 130, 130, 70, 40 and 25 ns one time after the other, 13 in the end).
void fill_caches(Bound& bound, int threads) {
  constexpr double kCalls = 8;
  constexpr int kInOrder = 16;
  constexpr std::chrono::milliseconds kLongest{8};
  for (int i = 0; i < kInOrder; ++i) bound.problem->read_in_order();
  const auto end = std::chrono::steady_clock::now() + kLongest;
  const double all = calls_for_all(*bound.problem, threads);
  double done = 0;
  do {
    bound.problem->run(bound.next_call, bound.batch);
    bound.next_call += bound.batch;
    done += static_cast<double>(bound.batch);
  } while (done < all || (done < kCalls && std::chrono::steady_clock::now() < end));
}

/// A call right before the first that is timed, as all the others have one: while the cores were
/// looked at a library's threads have fallen asleep, and ours have not. One that is long would be
/// no more than a second sample.
void call_once(Bound& bound) {
  constexpr double kLongCall = 50e-3;
  if (bound.call_s <= kLongCall) bound.problem->run(bound.next_call++, 1);
}

/// Waits, within bounds, for a window in which nobody shares the cores, and returns the last one.
/// Phases in which virtual CPUs share a core last milliseconds to seconds.
template <class Observe>
Window when_quiet(int threads, Observe window) {
  constexpr std::chrono::milliseconds kLongest{30};
  constexpr double kShared = 0.85;
  const double shared_dispatch = threads == 1 ? 0.85 : 0.65;  // of several, some nearly always are
  static double best_issue = 0, best_dispatch = 0;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  Window now = window();
  const auto shared = [&] {
    return now.issue_per_cycle < kShared * best_issue ||
           now.dispatch_per_cycle < shared_dispatch * best_dispatch;
  };
  while (shared() && std::chrono::steady_clock::now() < end) now = window();
  best_issue = std::max(best_issue, now.issue_per_cycle);
  best_dispatch = std::max(best_dispatch, now.dispatch_per_cycle);
  return now;
}

/// The worse of what the windows before and after a sample tell, and the mean of their clocks.
Window around(const Window& before, const Window& after) {
  return {(before.clock_hz + after.clock_hz) / 2,
          std::min(before.issue_per_cycle, after.issue_per_cycle),
          std::min(before.dispatch_per_cycle, after.dispatch_per_cycle),
          std::min(before.memory_bytes_per_s, after.memory_bytes_per_s),
          std::max(before.handover_s, after.handover_s)};
}

/// Seconds.
double steady_now() {
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return now.count();
}

/// run_cpu(), but that it throws.
void measure(benchmark::State& state, const Entry& entry, ProblemCache& cache,
             const kernels::Caches& caches, const std::vector<int>& cpus) {
  const int threads = entry.instance.threads;
  // A library makes its own threads, which inherit this thread's mask.
  std::unique_ptr<PinnedTeam> team;
  std::unique_ptr<ConfinedTeam> confined;
  if (entry.kernel->library())
    confined = std::make_unique<ConfinedTeam>(threads, cpus);
  else
    team = std::make_unique<PinnedTeam>(threads, cpus);

  Bound* const bound = &cache.get(entry, caches);
  if (!bound->wrong.empty()) {
    state.SkipWithError(fmt::format("{}: {}", roofline::kWrongResult, bound->wrong).c_str());
    return;
  }
  auto& problem = *bound->problem;
  if (bound->batch == 0) {
    if (!team) wait_for_rest();  // for the OpenMP team that filled and verified
    bound->batch = calibrate(problem, steady_now);
  }
  const bool memory = !std::isnan(problem.traffic().dram);
  if (!memory) fill_caches(*bound, threads);

  const Team observers = [&](const Work& work) {
    if (team)
      team->run(work);
    else
      run_on_fresh_threads(threads, cpus, work);
  };
  // Loads and stores of any width leave the clock alone.
  const Adds adds =
      problem.cost().flops > 0 ? kernels::fma_peak::adds_of(problem.exec_unit().first) : Adds{};
  const auto window = [&] {
    if (!team) wait_for_rest();
    return observe(threads, observers, memory, adds);
  };
  const std::int64_t calls = bound->batch == 1 ? 1 : kBatchesAtATime * bound->batch;
  const Window before = when_quiet(threads, window);
  call_once(*bound);
  PartClock part_clock(problem);
  const CpuWaits waits = cpu_waits();
  const auto start = std::chrono::steady_clock::now();
  while (state.KeepRunningBatch(calls)) {
    part_clock.start();
    problem.run(bound->next_call, calls);
    bound->next_call += calls;
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  const double waited = waited_since_s(waits, cpu_waits());
  bound->call_s = all.count() / static_cast<double>(state.iterations());
  const Window beside = around(before, window());
  set_counters(state, problem, beside.clock_hz, false);
  const auto parts = problem.parts();
  for (std::size_t i = 0; i < parts.size(); ++i)
    set_part_counters(state, parts[i],
                      part_clock.seconds()[i] / static_cast<double>(state.iterations()), false);
  set_counter(state, "issue_per_cycle", beside.issue_per_cycle);
  set_counter(state, "dispatch_per_cycle", beside.dispatch_per_cycle);
  set_counter(state, "cpu_wait", waited / (all.count() * threads));
  set_counter(state, "memory_window_bytes_per_s", beside.memory_bytes_per_s);
  set_counter(state, "handover_s", beside.handover_s);
  // A library's threads may spin for a while yet, on the CPUs that would read.
  if (team)
    set_counter(state, "own_memory_bytes_per_s",
                bound->own_memory.rate(problem, bound->next_call, steady_now));
  state.SetLabel(base_label(problem, false));
}

}  // namespace

void run_cpu(benchmark::State& state, const Entry& entry, ProblemCache& cache,
             const kernels::Caches& caches, const std::vector<int>& cpus) {
  try {
    measure(state, entry, cache, caches, cpus);
  } catch (const std::bad_alloc&) {
    state.SkipWithError(std::string(roofline::kOutOfMemory).c_str());
  } catch (const std::exception& e) {  // bad input, no more threads, a library that refuses
    state.SkipWithError(e.what());
  }
}

}  // namespace bench
