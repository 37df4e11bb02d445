#include "roofline/run/run_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/machine/machine.hpp"
#include "roofline/overlay/analysis.hpp"
#include "roofline/results/bench_json.hpp"
#include "roofline/results/quiet.hpp"
#include "roofline/run/link_turn.hpp"
#include "roofline/run/progress.hpp"
#include "roofline/run/run_budget.hpp"
#include "roofline/run/run_cost.hpp"
#include "roofline/run/run_plan.hpp"
#include "roofline/run/run_results.hpp"
#include "roofline/run/run_turns.hpp"
#include "roofline/run/trace.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

constexpr int kFurtherRounds = 2;      // of a group, at most
constexpr int kAttempts = 2;           // at a ceiling in doubt, beyond the first
constexpr double kTablesEvery_s = 10;  // what a killed run has measured can be looked at

/// Four times the level that holds most, as the programs' cold sets are.
double cold_bytes(const CeilingContext& context) {
  std::int64_t largest = 0;
  for (const machine::Cache& cache : context.caches) largest = std::max(largest, cache.total_bytes);
  return 4.0 * static_cast<double>(largest);
}

bool has_links(const Group& group) {
  return std::any_of(group.units.begin(), group.units.end(), [](const Unit& unit) {
    return std::any_of(unit.names.begin(), unit.names.end(),
                       [](const std::string& name) { return name.starts_with("link/"); });
  });
}

std::string seconds_text(double seconds) { return fmt::format("{:.4f}", seconds); }

/// Measures the groups of one plan into one folder.
class Runner {
 public:
  Runner(RunFolder& folder, const Plan& plan, const RunOptions& options, std::string device,
         const CeilingContext& context, const Room& room, const machine::GpuWatch* gpus,
         SignalGuard& signals)
      : folder_(folder),
        options_(options),
        device_(std::move(device)),
        machine_(context),
        room_(room),
        groups_(groups_left(folder, plan)),
        budget_(folder.settings().full, groups_, room, cold_bytes(context)),
        signals_(signals),
        trace_(folder.path() / "trace.csv", gpus) {
    finished_ = plan.groups.size() - groups_.size();
    total_ = plan.groups.size();
    double expected = 0;
    for (const Group* group : groups_) expected += budget_.expected(*group);
    progress_.emplace(expected);
  }

  /// False if it was interrupted.
  bool measure() {
    if (!at_an_end()) folder_.write_state("running", total_);
    for (const Group* group : groups_) {
      const double begin = progress_->elapsed_s();
      sample_s_ = budget_.sample_s(*group, begin);
      expected_of_group_ = budget_.expected(*group);
      if (!measure_group(*group)) {
        progress_->clear();
        return false;
      }
      expected_done_ += expected_of_group_;
      budget_.spend(*group, progress_->elapsed_s() - begin);
      ++finished_;
      if (progress_->elapsed_s() >= tables_due_s_) {
        write_tables(analyze_folder(folder_.path(), machine_), folder_.path(), machine_);
        tables_due_s_ = progress_->elapsed_s() + kTablesEvery_s;
      }
    }
    progress_->clear();
    return true;
  }

  /// Measures again, within bounds, the ceilings that the results so far cast doubt on. False if it
  /// was interrupted.
  bool measure_doubtful(const Plan& plan) {
    if (at_an_end()) return true;
    for (int i = 0; i < kAttempts && budget_.again_left_s > 0; ++i) {
      const Analysis so_far = analyze_folder(folder_.path(), machine_);
      Group group{"", false, units_of(plan, doubtful_probes(so_far))};
      if (group.units.empty()) break;
      attempt_ = 1;
      for (const Benchmark& row : so_far.data.benchmarks) {
        attempt_ = std::max(attempt_, row.attempt + 1);
      }
      group.name = fmt::format("{}{}", kAgain, attempt_);
      const double begin = progress_->elapsed_s();
      sample_s_ = budget_.sample_again_s(group.benchmarks());
      if (!measure_group(group)) return false;
      budget_.again_left_s -= progress_->elapsed_s() - begin;
    }
    progress_->clear();
    return true;
  }

 private:
  /// A finished run is analysed again, not measured again.
  bool at_an_end() const { return groups_.empty() && folder_.ended(); }
  static std::vector<const Group*> groups_left(const RunFolder& folder, const Plan& plan) {
    std::vector<const Group*> out;
    for (const Group& group : plan.groups) {
      if (!folder.done(group.name)) out.push_back(&group);
    }
    return out;
  }

  /// False if interrupted: nothing of the group is kept but what the trace has seen of it.
  bool measure_group(const Group& group) {
    const bool whole = measure_rounds(group);
    trace_.sample(progress_->elapsed_s(), group.name);
    trace_.write();
    return whole;
  }

  bool measure_rounds(const Group& group) {
    std::optional<LinkTurn> turn;
    if (has_links(group))
      turn.emplace(fs::canonical(folder_.path()).parent_path().parent_path(), signals_, [&] {
        progress_->note("waiting for another run, which measures the links to the host");
      });
    results_.emplace(group.name, attempt_);
    std::vector<Unit> units = group.units;
    const Effort& effort = budget_.effort();
    rounds_ = budget_.rounds(group);
    repetitions_ = effort.samples() / rounds_;
    if (rounds_ > 1 && !apart_told_) {
      progress_->note(
          fmt::format("one program after the other, not in turns: {}", why_apart(group, room_)));
      apart_told_ = true;
    }
    const double start = progress_->elapsed_s();
    for (int round = 0; round < rounds_; ++round) {
      if (!measure_round(group, units, round)) return false;
    }
    const double row_s = (progress_->elapsed_s() - start) / (rounds_ * repetitions_) /
                         static_cast<double>(group.benchmarks());
    repetitions_ = (effort.samples() + 1) / 2;
    for (int i = 0; i < kFurtherRounds && budget_.rounds_left_s > 0; ++i) {
      if (!keep_disturbed(units)) break;
      if (row_s * repetitions_ * static_cast<double>(benchmarks_of(units)) > budget_.rounds_left_s)
        break;
      const double begin = progress_->elapsed_s();
      if (!measure_round(group, units, rounds_ + i)) return false;
      budget_.rounds_left_s -= progress_->elapsed_s() - begin;
    }
    for (const Unit& unit : group.units) {
      if (unit.gpu && folder_.settings().full && may_count_ && !count_work(unit)) return false;
    }
    for (Benchmark& row : results_->benchmarks()) seen_.push_back(std::move(row));
    std::vector<RunFailure> failures;
    for (const Unit& unit : group.units) {
      for (const std::string& name : unit.names) {
        const std::string& failure = results_->failure(name);
        if (failure.empty()) continue;
        // What was to be measured again has been measured: nothing is missing.
        if (attempt_ == 0) failures.push_back({group.name, name, failure});
        progress_->note(fmt::format("failed: {}: {}", name, failure));
      }
    }
    folder_.finish_group(group.name, results_->text(group.units), failures);
    return true;
  }

  void take_skipped() {
    for (const SkippedRow& fresh : results_->skipped()) {
      const bool known = std::any_of(folder_.skipped.begin(), folder_.skipped.end(),
                                     [&](const SkippedRow& row) { return row.name == fresh.name; });
      if (!known) folder_.skipped.push_back(fresh);
    }
  }

  /// What hardware counters see of a call, beside the first row of each benchmark: in a process of
  /// its own, so that no time is taken with a profiler about. False if interrupted.
  bool count_work(Unit unit) {
    std::erase_if(unit.names, [&](const std::string& name) { return !results_->good(name); });
    if (unit.names.empty()) return true;
    const fs::path file = folder_.scratch() / "counted.json";
    fs::remove(file);
    repetitions_ = 1;
    Command command = command_of(unit, file, false);
    command.arguments.push_back("--counters");
    const Outcome outcome = run_process(command);
    if (outcome.interrupted) return false;
    std::vector<Benchmark> counted;
    try {
      if (!outcome.clean()) throw BadInput(outcome.words(command.timeout_s));
      counted = parse_bench_json(read_text(file), "its JSON").benchmarks;
    } catch (const BadInput& error) {
      progress_->note(fmt::format("not counted: {}: {}", unit.names.front(), error.what()));
    }
    for (const Benchmark& row : counted) {
      if (!row.not_counted.empty()) {
        progress_->note("GPU counters left out: " + row.not_counted);
        may_count_ = false;
        break;
      }
      results_->add_counted(row);
    }
    return true;
  }

  /// One process for each unit; leaves in `units` what the next round shall run.
  bool measure_round(const Group& group, std::vector<Unit>& units, int round) {
    std::vector<Unit> next;
    const std::size_t together = started_together(group, units, room_);
    for (std::size_t i = 0; i < units.size(); i += together) {
      const auto part = [&](std::size_t processes) {
        const double share = static_cast<double>(processes) / static_cast<double>(units.size());
        return expected_done_ + std::min(1.0, (round + share) / rounds_) * expected_of_group_;
      };
      done_s_ = part(i);
      next_s_ = part(std::min(units.size(), i + together));
      if (!measure_units(group, std::span(units).subspan(i, together), round, next)) return false;
    }
    units = std::move(next);
    return true;
  }

  /// Whether a benchmark of the group at work lacks quiet samples, as far as can be told by now, or
  /// has some that disagree. Of probes, which are not compared with each other, only those stay in
  /// `units`.
  bool keep_disturbed(std::vector<Unit>& units) const {
    std::vector<Benchmark> all = results_->benchmarks();
    const std::size_t own = all.size();
    all.insert(all.end(), seen_.begin(), seen_.end());
    set_disturbed_apart(all, machine_.issue_per_cycle);
    all.resize(own);
    std::erase_if(all, [](const Benchmark& row) { return !wants_samples(row); });
    if (all.empty()) return false;
    if (is_probe(all.front()) && all.front().roof_of.empty()) {
      std::set<std::string> names;
      for (const Benchmark& row : all) names.insert(row.name);
      keep_only(units, names);
    }
    return !units.empty();
  }

  /// The command that measures a unit into `file`.
  Command command_of(const Unit& unit, const fs::path& file, bool turns) const {
    const double asked = static_cast<double>(unit.names.size()) * repetitions_ * sample_s_;
    std::vector<std::string> arguments = {
        unit.program.string(),
        "--benchmark_filter=" + exact_filter(program_names(unit)),
        fmt::format("--{}={}", unit.own ? "benchmark_repetitions" : "passes", repetitions_),
        "--benchmark_min_time=" + seconds_text(sample_s_),
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_report_aggregates_only=false",
        "--benchmark_out=" + file.string(),
        "--benchmark_out_format=json"};
    if (!unit.own) {
      arguments.push_back(std::string("--suite=") + (folder_.settings().full ? "full" : "quick"));
      arguments.push_back("--device=" + device_);
      if (turns) arguments.push_back(fmt::format("--turns={}", kTurnsFile));
    }
    const double expected =
        expected_s(unit, {1, static_cast<double>(repetitions_), sample_s_, cold_bytes(machine_)});
    auto environment = child_environment(folder_.settings());
    if (const std::size_t equals = unit.tuned.find('='); equals != std::string::npos) {
      environment.emplace_back(unit.tuned.substr(0, equals), unit.tuned.substr(equals + 1));
    }
    return {.arguments = std::move(arguments),
            .environment = std::move(environment),
            .timeout_s = options_.timeout_s > 0
                             ? options_.timeout_s
                             : process_timeout(folder_.settings().full, asked) + 3 * expected,
            .own = unit.own};
  }

  /// A process each, which take turns; `next` gets what the next round shall run in their place. A
  /// process that fails as a whole is split into single benchmarks, so that one of them does not
  /// cost the others; what finds no memory beside the others is run again without them. False if
  /// interrupted.
  bool measure_units(const Group& group, std::span<const Unit> units, int round,
                     std::vector<Unit>& next) {
    if (signals_.interrupted()) return false;
    std::vector<Command> commands;
    std::vector<fs::path> files;
    for (const Unit& unit : units) {
      files.push_back(folder_.scratch() / fmt::format("bench-{}.json", files.size()));
      fs::remove(files.back());
      commands.push_back(command_of(unit, files.back(), units.size() > 1));
    }
    const auto show = [&] {
      progress_->show(finished_, total_,
                      fmt::format("{}, round {} of {}", group.name, round + 1, rounds_), done_s_,
                      next_s_);
    };
    show();
    const auto outcomes = run_in_turns(commands, [&] {
      show();
      trace_.sample(progress_->elapsed_s(), group.name);
    });
    std::vector<Unit> broken, crowded;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Unit& unit = units[i];
      if (outcomes[i].interrupted) return false;
      const std::string fault = results_->take(unit, outcomes[i], commands[i].timeout_s, files[i],
                                               round, units.size() > 1);
      if (!fault.empty()) {
        folder_.check_space();
        if (units.size() == 1 && unit.names.size() == 1) {
          results_->fail(unit.names.front(), fault);
        } else {
          // Without a word, what an out-of-memory killer did would leave no trace.
          progress_->note(
              fmt::format("{}, {}: {}: run again {}", group.name,
                          unit.library.empty() ? unit.program.filename().string() : unit.library,
                          fault, unit.names.size() > 1 ? "one by one" : "alone"));
          broken.push_back(unit);
        }
        continue;
      }
      Unit good = unit, alone = unit;
      good.names.clear();
      alone.names.clear();
      for (const std::string& name : unit.names) {
        if (results_->take_crowded(name)) {
          alone.names.push_back(name);
        } else if (results_->good(name)) {
          good.names.push_back(name);
        }
      }
      if (!good.names.empty()) next.push_back(std::move(good));
      if (!alone.names.empty()) crowded.push_back(std::move(alone));
    }
    take_skipped();
    for (const Unit& unit : crowded) {
      if (!measure_units(group, {&unit, 1}, round, next)) return false;
    }
    for (const Unit& unit : broken) {
      for (const std::string& name : unit.names) {
        Unit alone = unit;
        alone.names = {name};
        if (!measure_units(group, {&alone, 1}, round, next)) return false;
      }
    }
    return true;
  }

  RunFolder& folder_;
  const RunOptions& options_;
  std::string device_;
  const CeilingContext& machine_;
  Room room_;
  std::vector<const Group*> groups_;  ///< to be measured
  Budget budget_;
  SignalGuard& signals_;
  Trace trace_;
  std::optional<Progress> progress_;
  std::size_t finished_ = 0, total_ = 0;
  int rounds_ = 1, repetitions_ = 1;  ///< of the group at work
  bool apart_told_ = false;           ///< why a group takes no turns
  double sample_s_ = 0, expected_done_ = 0, expected_of_group_ = 0;
  double done_s_ = 0, next_s_ = 0;  ///< of the work as expected, around what runs now
  double tables_due_s_ = kTablesEvery_s;
  std::optional<RunResults> results_;  ///< of the group at work
  bool may_count_ = true;
  std::vector<Benchmark> seen_;  ///< of the groups before
  int attempt_ = 0;              ///< at ceilings in doubt
};

}  // namespace

std::vector<std::pair<std::string, std::string>> child_environment(const RunSettings& settings) {
  if (settings.device == "cpu") return {};
  // Where it is 1, a launch waits for its own end: behind a sample's gate, until that gives up.
  std::vector<std::pair<std::string, std::string>> out = {{"CUDA_LAUNCH_BLOCKING", "0"}};
  if (settings.gpu.empty()) return out;
  out.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  out.emplace_back("CUDA_VISIBLE_DEVICES", settings.gpu);
  return out;
}

bool measure(RunFolder& folder, const Plan& plan, const RunOptions& options,
             const std::string& device, const machine::Machine& machine,
             const CeilingContext& context, const machine::GpuWatch* gpus, SignalGuard& signals) {
  const Room room = {static_cast<double>(machine.memory_limit_bytes),
                     gpus != nullptr ? gpus->room(folder.settings().gpu) : machine::GpuRoom{},
                     std::max(kColdWeights, cold_bytes(context))};
  Runner runner(folder, plan, options, device, context, room, gpus, signals);
  return runner.measure() && runner.measure_doubtful(plan);
}

}  // namespace roofline
