// Samples of several benchmarks that are neighbours in time: one of each, then one more of each.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>

namespace bench {

/// Iterations of a sample by the name under which a benchmark is registered.
using Iterations = std::map<std::string, benchmark::IterationCount>;

/// Runs all that `register_all` registers once a pass, after a turn that it waits for, in an order
/// that Google Benchmark shuffles if it is told to; its own repetitions would lie anywhere among
/// all of them. The first pass finds out how many iterations a sample takes and is given none; the
/// others get those of each benchmark that gave a result, and shall register no others. The file of
/// --benchmark_out holds the rows of all passes, under the names of the first.
void run_in_passes(int passes, benchmark::BenchmarkReporter& display,
                   const std::function<void(const Iterations&)>& register_all);

}  // namespace bench
