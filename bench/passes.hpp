// Samples of several benchmarks that are neighbours in time: one of each, then one more of each.
#pragma once

#include <benchmark/benchmark.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace bench {

/// Iterations of a sample by the name under which a benchmark is registered.
using Iterations = std::map<std::string, benchmark::IterationCount>;

/// Runs all that `register_all` registers once a pass, after a turn that it waits for, in an order
/// that Google Benchmark shuffles if it is told to; its own repetitions would lie anywhere among
/// all of them. The first pass finds out how many iterations a sample takes and is given none; the
/// others get those of each benchmark that gave a result, and shall register no others. `file` has
/// Google Benchmark's JSON of all passes that have ended, under the names of the first. Throws
/// roofline::BadInput if it cannot be written.
void run_in_passes(int passes, benchmark::BenchmarkReporter& display,
                   const std::filesystem::path& file,
                   const std::function<void(const Iterations&)>& register_all);

}  // namespace bench
