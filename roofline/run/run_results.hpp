// What the processes of one group of a run have given.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "roofline/base/process.hpp"
#include "roofline/results/benchmark.hpp"
#include "roofline/run/run_plan.hpp"

namespace roofline {

class RunResults {
 public:
  /// `attempt`: above 0 where ceilings in doubt are measured again.
  RunResults(std::string group, int attempt) : group_(std::move(group)), attempt_(attempt) {}

  /// Takes over the rows of a process of `unit`. Returns why the whole process counts as failed, or
  /// nothing.
  std::string take(const Unit& unit, const Outcome& outcome, double timeout,
                   const std::filesystem::path& file, int round, bool in_turns);
  /// Where a benchmark's process failed, and it was alone in it.
  void fail(const std::string& name, std::string why) { results_[name].failure = std::move(why); }
  /// What hardware counters saw of it goes beside its first row.
  void add_counted(const Benchmark& row);

  /// Whether it found no memory beside the processes that it took turns with; asked once.
  bool take_crowded(const std::string& name);
  /// Whether it has neither failed nor been skipped.
  bool good(const std::string& name) const;
  /// Empty if it has not failed.
  const std::string& failure(const std::string& name) { return results_[name].failure; }
  /// By the programs' own decision; one of several rounds may be there more than once.
  const std::vector<SkippedRow>& skipped() const { return skipped_; }

  std::vector<Benchmark> benchmarks() const;
  /// The rows in the units' order, as a file; empty without any. Leaves none here.
  std::string text(const std::vector<Unit>& units);

 private:
  /// One benchmark's rows, and why it has none.
  struct Result {
    nlohmann::json rows = nlohmann::json::array();
    std::string failure;
    bool wrong = false;
    bool skipped = false;
    bool crowded = false;
  };

  std::string group_;
  int attempt_;
  std::map<std::string, Result> results_;  ///< by benchmark
  std::vector<SkippedRow> skipped_;
  nlohmann::json context_;
};

}  // namespace roofline
