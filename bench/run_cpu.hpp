// Timing of one CPU benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

#include "bench/problem_cache.hpp"

namespace bench {

/// Runs `entry` under Google Benchmark's own timer (wall time) and sets the agreed counters and
/// label. A wrong result or a problem that cannot be bound becomes an error row, never a time.
void run_cpu(benchmark::State& state, const Entry& entry, ProblemCache& cache,
             const kernels::Caches& caches, const std::vector<int>& cpus);

}  // namespace bench
