#include "roofline/run/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/process.hpp"
#include "roofline/base/say.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/ceilings/roofs.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/machine/machine.hpp"
#include "roofline/machine/state.hpp"
#include "roofline/overlay/analysis.hpp"
#include "roofline/overlay/prediction.hpp"
#include "roofline/report/report.hpp"
#include "roofline/report/summary.hpp"
#include "roofline/run/own_bench.hpp"
#include "roofline/run/run_budget.hpp"
#include "roofline/run/run_device.hpp"
#include "roofline/run/run_measure.hpp"
#include "roofline/run/run_plan.hpp"
#include "roofline/run/same_machine.hpp"
#include "roofline/specs/advertised.hpp"

namespace roofline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<std::string> names_of(const std::vector<fs::path>& programs) {
  std::vector<std::string> out;
  for (const fs::path& program : programs) out.push_back(program.filename().string());
  return out;
}

/// Whose figures a run of these devices (cpu, gpu or all) shows.
std::string heading(const CeilingContext& context, std::string_view device) {
  if (device != "all" || context.gpu.empty()) return context.machine_of(device);
  return fmt::format("{}, {}", context.machine, context.gpu);
}

/// What the plan leaves out, and what was left out before and is not about to be measured: programs
/// decide some of it themselves.
std::vector<SkippedRow> all_skipped(const RunFolder& folder, const Plan& plan) {
  std::vector<SkippedRow> out = plan.skipped;
  std::set<std::string> other;
  for (const SkippedRow& row : plan.skipped) other.insert(row.name);
  for (const Group& group : plan.groups) {
    if (folder.done(group.name)) continue;
    for (const Unit& unit : group.units) other.insert(unit.names.begin(), unit.names.end());
  }
  std::copy_if(folder.skipped.begin(), folder.skipped.end(), std::back_inserter(out),
               [&](const SkippedRow& row) { return !other.contains(row.name); });
  return out;
}

/// One results folder is of one machine.
void check_machine(const RunFolder& folder, const machine::Machine& machine) {
  const fs::path file = folder.path() / "machine.json";
  const json facts = parse_json(read_text(file), file.string());
  if (!facts.is_object() || !facts.contains("name")) {
    throw BadInput(fmt::format("{}: no field 'name'", file.string()));
  }
  const std::string difference =
      machine_difference(facts, machine.facts, folder.settings().device != "cpu");
  if (!difference.empty()) throw BadInput(fmt::format("{}: {}", file.string(), difference));
}

/// Those asked for, or of a run that goes on, which has to be asked for the same programs, its own.
RunSettings settings_of(const RunOptions& options, const RunFolder* begun) {
  RunSettings settings = begun ? begun->settings() : options.settings;
  if (!begun) settings.own = names_of(options.own);
  if (settings.own != names_of(options.own)) {
    const std::string began = settings.own.empty() ? "without --bench" : "with --bench ";
    throw BadInput(fmt::format("--resume {}: began {}{}: go on the same way",
                               options.resume.string(), began,
                               fmt::join(settings.own, " --bench ")));
  }
  return settings;
}

/// For machine.json: with what is advertised, and how busy the machine is now. The load average
/// still has what built these programs.
std::string facts_of(const machine::Machine& machine) {
  json facts = machine.facts;
  add_advertised(facts);
  if (const double busy = machine::busy_share_now(); !std::isnan(busy)) {
    facts["state"]["busy_share"] = busy;
  }
  return facts.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string summary_of(const Analysis& analysis, const RunFolder& folder) {
  std::string text = fmt::format("{}\n{}", ceilings_summary(analysis.ceilings.rows),
                                 kernels_summary(analysis.points));
  for (const std::string& further :
       {counters_summary(analysis.counted), prediction_summary(predictions(analysis.points)),
        samples_summary(analysis.data.benchmarks, effort_of(folder.settings().full).rounds_s),
        skips_summary(folder.skipped)}) {
    if (!further.empty()) text += fmt::format("\n{}", further);
  }
  if (folder.failures().empty()) return text;
  text += fmt::format("\n{} failed:\n", folder.failures().size());
  for (const RunFailure& failure : folder.failures()) {
    text += fmt::format("  {}: {}\n", printable(failure.benchmark), printable(failure.reason));
  }
  return text;
}

}  // namespace

double process_timeout(bool full, double asked_s) { return (full ? 600 : 60) + 10 * asked_s; }

int run(const RunOptions& options) {
  std::optional<SignalGuard> signals(std::in_place);
  std::optional<machine::GpuWatch> gpus;  // before the probe, which would wake the GPU and leave it
  if (!options.resume.empty() || options.settings.device != "cpu") gpus.emplace();
  const machine::Machine machine = machine::probe();
  const auto programs = find_programs(options.bin);
  std::optional<RunFolder> folder;
  if (!options.resume.empty()) {
    folder.emplace(RunFolder::resume(options.resume));
    check_machine(*folder, machine);
  }
  RunSettings settings = settings_of(options, folder ? &*folder : nullptr);
  std::vector<std::string> notes;  // not said above an error
  const std::string device = usable_device(settings, machine, programs, notes);
  if (device == "cpu") gpus.reset();
  std::vector<ListedBenchmark> listed = list_programs(programs, settings, device, notes);
  for (const fs::path& program : options.own) {
    const double timeout =
        options.timeout_s > 0 ? options.timeout_s : process_timeout(settings.full, 0);
    const auto own = list_own(program, settings.filter, timeout, child_environment(settings));
    listed.insert(listed.end(), own.begin(), own.end());
  }
  const Plan plan = make_plan(listed, settings.filter, settings.full);
  if (plan.groups.empty()) {
    throw BadInput(fmt::format("--device {}: nothing to measure{}", settings.device,
                               plan.skipped.empty() ? "" : ": " + plan.skipped.front().reason));
  }
  const CeilingContext context = context_of(machine, settings.gpu);
  if (!folder) {
    folder.emplace(
        RunFolder::create(options.out, context.machine_of(device), settings, facts_of(machine)));
  }
  if (std::find(folder->builds.begin(), folder->builds.end(), options.build) ==
      folder->builds.end()) {
    folder->builds.push_back(options.build);
  }
  folder->skipped = all_skipped(*folder, plan);
  for (const std::string& note : notes) say("{}\n", note);
  say("results: {}\n", folder->path().string());
  say("{}", skips_summary(plan.skipped));

  const bool complete =
      measure(*folder, plan, options, device, machine, context, gpus ? &*gpus : nullptr, *signals);
  signals.reset();  // from here on a second Ctrl-C ends the program at once
  const bool failed = !folder->failures().empty();
  folder->write_state(!complete ? "interrupted"
                      : failed  ? "failed"
                                : "complete",
                      plan.groups.size());

  const Analysis analysis = analyze_folder(folder->path(), context);
  write_tables(analysis, folder->path(), context);
  std::string text =
      fmt::format("{}\n\n{}", heading(context, device), summary_of(analysis, *folder));
  const auto silent =
      complete ? devices_without_rows(plan, analysis.data.benchmarks) : std::vector<std::string>();
  for (const std::string& name : silent) {
    text += fmt::format("\nfailed: not one benchmark on the {} gave a time\n", name);
  }
  if (!silent.empty()) folder->write_state("failed", plan.groups.size());
  text += fmt::format("\nresults: {}\n", folder->path().string());
  const bool told =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  const int why = told ? 0 : errno;
  if (!complete) {
    say("interrupted: go on with --resume {}\n", folder->path().string());
  }
  if (!analysis.data.benchmarks.empty()) {
    for (const auto& note : draw({folder->path()}).notes) say("{}\n", note);
  }
  if (!told) throw BadInput(fmt::format("cannot write to stdout: {}", std::strerror(why)));
  return complete && !failed && silent.empty() ? 0 : 1;
}

}  // namespace roofline
