// How a bench program's rows are shown and written.
#pragma once

#include <benchmark/benchmark.h>

#include <vector>

namespace bench {

/// Prints the rates and leaves the model's numbers to the JSON.
class ConsoleRates final : public benchmark::ConsoleReporter {
 public:
  ConsoleRates();
  /// Without the warning that timings may be affected: Debian builds Google Benchmark with its
  /// assertions, none of which is in a timed loop.
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
};

/// Google Benchmark opens the file of --benchmark_out and looks no further.
class CheckedJson final : public benchmark::JSONReporter {
 public:
  bool arrived() const { return arrived_; }
  void Finalize() override;

 private:
  bool arrived_ = true;
};

}  // namespace bench
