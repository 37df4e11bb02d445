#include "bench/passes.hpp"

#include <sstream>
#include <utility>
#include <vector>

#include "bench/turns.hpp"
#include "roofline/base/write_atomically.hpp"

namespace bench {
namespace {

/// Shows rows as they come, and keeps those of all passes.
class Keeper final : public benchmark::BenchmarkReporter {
 public:
  explicit Keeper(benchmark::BenchmarkReporter& display) : display_(display) {
    SetOutputStream(&display.GetOutputStream());
    SetErrorStream(&display.GetErrorStream());
  }

  const Iterations& iterations() const { return iterations_; }

  bool ReportContext(const Context& context) override { return display_.ReportContext(context); }

  void ReportRuns(const std::vector<Run>& runs) override {
    display_.ReportRuns(runs);
    for (Run run : runs) {
      const std::string name = run.run_name.function_name;
      // What has none was skipped, and says why.
      if (!run.counters.empty()) iterations_[name] = run.iterations;
      run.run_name = names_.try_emplace(name, run.run_name).first->second;
      runs_.push_back(std::move(run));
    }
  }

  void Finalize() override { display_.Finalize(); }

  /// Google Benchmark's JSON of what was kept.
  std::string json() const {
    std::ostringstream text;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&text);
    reporter.SetErrorStream(&text);
    reporter.ReportContext(Context());
    reporter.ReportRuns(runs_);
    reporter.Finalize();
    return text.str();
  }

 private:
  benchmark::BenchmarkReporter& display_;
  std::vector<Run> runs_;
  std::map<std::string, benchmark::BenchmarkName> names_;  // as the first pass has them
  Iterations iterations_;
};

}  // namespace

void run_in_passes(int passes, benchmark::BenchmarkReporter& display,
                   const std::filesystem::path& file,
                   const std::function<void(const Iterations&)>& register_all) {
  Keeper rows(display);
  for (int pass = 0; pass < passes && (pass == 0 || !rows.iterations().empty()); ++pass) {
    await_turn();
    benchmark::ClearRegisteredBenchmarks();
    register_all(rows.iterations());
    // From the second on their names end in numbers of iterations, which no filter expects.
    if (pass == 0)
      benchmark::RunSpecifiedBenchmarks(&rows);
    else
      benchmark::RunSpecifiedBenchmarks(&rows, ".");
    roofline::write_atomically(file, rows.json(), roofline::Sync::kToSystem);
  }
}

}  // namespace bench
