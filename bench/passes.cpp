#include "bench/passes.hpp"

#include <utility>
#include <vector>

#include "bench/turns.hpp"

namespace bench {
namespace {

/// Google Benchmark's JSON of all passes so far: it opens the file anew for each.
class JsonOfPasses final : public benchmark::BenchmarkReporter {
 public:
  const Iterations& iterations() const { return iterations_; }

  bool ReportContext(const Context& context) override {
    json_ = benchmark::JSONReporter();
    json_.SetOutputStream(&GetOutputStream());
    json_.SetErrorStream(&GetErrorStream());
    return json_.ReportContext(context);
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (Run run : runs) {
      const std::string name = run.run_name.function_name;
      // What has none was skipped, and says why.
      if (!run.counters.empty()) iterations_[name] = run.iterations;
      run.run_name = names_.try_emplace(name, run.run_name).first->second;
      runs_.push_back(std::move(run));
    }
  }

  void Finalize() override {
    json_.ReportRuns(runs_);
    json_.Finalize();
  }

 private:
  benchmark::JSONReporter json_;
  std::vector<Run> runs_;
  std::map<std::string, benchmark::BenchmarkName> names_;  // as the first pass has them
  Iterations iterations_;
};

}  // namespace

void run_in_passes(int passes, benchmark::BenchmarkReporter& display,
                   const std::function<void(const Iterations&)>& register_all) {
  JsonOfPasses file;
  await_turn();
  register_all({});
  benchmark::RunSpecifiedBenchmarks(&display, &file);
  for (int pass = 1; pass < passes && !file.iterations().empty(); ++pass) {
    await_turn();
    benchmark::ClearRegisteredBenchmarks();
    register_all(file.iterations());
    benchmark::RunSpecifiedBenchmarks(&display, &file, ".");
  }
}

}  // namespace bench
