// roofline analyze: any Google Benchmark JSON over measured ceilings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "roofline/base/dtype_names.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/base/say.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/ceilings/roofs.hpp"
#include "roofline/cli/arguments.hpp"
#include "roofline/cli/commands.hpp"
#include "roofline/cli/drawn.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/prediction.hpp"
#include "roofline/overlay/roofline_csv.hpp"
#include "roofline/report/report.hpp"
#include "roofline/report/summary.hpp"
#include "roofline/results/bench_json.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline::cli {
namespace {

struct Options {
  std::vector<std::string> bench;
  std::string ceilings, chip, out, prediction, draw;
  RowDefaults defaults;
};

/// Names for the rows: those that the benchmarks tell, else the ceilings'. Says so where they
/// differ.
CeilingContext context_of(const BenchData& data, const std::vector<Ceiling>& ceilings,
                          const std::string& chip) {
  CeilingContext out;
  out.machine = data.machine;
  out.gpu = data.gpu;
  if (!chip.empty()) return out;
  for (const char* device : {"cpu", "gpu"}) {
    const auto found = std::find_if(ceilings.begin(), ceilings.end(), [&](const Ceiling& c) {
      return c.device == device && !c.machine.empty();
    });
    if (found == ceilings.end()) continue;
    std::string& name = device == std::string_view("gpu") ? out.gpu : out.machine;
    if (!name.empty() && name != found->machine) {
      say("roofline: the benchmarks ran on {}, the ceilings are of {}\n", name, found->machine);
    }
    if (name.empty()) name = found->machine;
  }
  return out;
}

/// A size of the GPU's L2 that its ceilings tell of: half of it held what they were measured with.
double l2_of_gpu(const std::vector<Ceiling>& ceilings) {
  double bytes = kUnknownNumber;
  for (const Ceiling& c : ceilings) {
    if (c.device == "gpu" && c.resource == "bandwidth" && c.level == "L2")
      bytes = std::fmax(bytes, 2 * c.working_set_bytes);
  }
  return bytes;
}

/// Samples are judged by what a core of their machine gives by itself, or by each other.
void judge_samples(BenchData& data) {
  const double issue = issue_per_cycle(data.microarchitecture);
  const auto gated = [](const Benchmark& row) { return row.gated(); };
  if (std::isnan(issue) && std::any_of(data.benchmarks.begin(), data.benchmarks.end(), gated)) {
    say("roofline: no table has these cores: which samples were quiet is judged by the best of "
        "these files\n");
  }
  set_disturbed_apart(data.benchmarks, issue);
}

/// Refuses a folder to draw into that holds anything: it may be a run's.
void check_new(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_empty(folder, error))
    throw BadInput(fmt::format("--draw {}: is there already: name a new folder", folder.string()));
}

/// A folder that `roofline report` knows.
void write_folder(const std::filesystem::path& folder, const Options& options,
                  const CsvTable& table, const CsvTable* predicted) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::copy_file(options.ceilings, folder / "ceilings.csv", error);
  if (error) throw BadInput(fmt::format("--draw {}: {}", folder.string(), error.message()));
  table.write(folder / "roofline.csv");
  if (predicted) predicted->write(folder / "prediction.csv");
}

/// Throws BadInput where a benchmark ran on another kind of device than the chip is.
void check_device(const Options& options, const BenchData& data, const specs::Chip& chip) {
  const std::string of_chip = chip.kind == "cpu" ? "cpu" : "gpu";
  for (const Benchmark& row : data.benchmarks) {
    if (row.device == of_chip) continue;
    throw BadInput(
        fmt::format("--chip {}: is no {}, which {} ran on", options.chip, row.device, row.name));
  }
}

int analyze(Options options) {
  if (auto& dtype = options.defaults.dtype; !dtype.empty()) {
    const auto canonical = canonical_dtype(dtype);
    if (!canonical) throw BadInput(fmt::format("--dtype '{}' is not an element type", dtype));
    dtype = *canonical;
  }
  const std::vector<std::filesystem::path> files(options.bench.begin(), options.bench.end());
  std::vector<std::filesystem::path> inputs = files;
  inputs.emplace_back(options.ceilings);
  keep_inputs("--out", options.out, inputs);
  inputs.emplace_back(options.out);
  keep_inputs("--prediction", options.prediction, inputs);
  if (!options.draw.empty()) check_new(options.draw);
  std::vector<Ceiling> ceilings;
  if (!options.ceilings.empty()) ceilings = read_ceilings(options.ceilings);
  if (!options.chip.empty()) ceilings = advertised_ceilings(specs::chip(options.chip));
  options.defaults.gpu_l2_bytes = l2_of_gpu(ceilings);
  BenchData data = read_bench_json(files, options.defaults);
  if (data.benchmarks.empty() && data.skipped.empty())
    throw BadInput(options.bench.front() + ": 'benchmarks' is empty");
  if (!options.chip.empty()) check_device(options, data, specs::chip(options.chip));
  judge_samples(data);
  const auto points = overlay(data.benchmarks, ceilings);
  const CeilingContext context = context_of(data, ceilings, options.chip);
  const CsvTable table =
      roofline_table(points, counted_overlay(data.benchmarks, ceilings), context);
  if (!options.out.empty()) table.write(options.out);
  const auto predicted = predictions(points);
  const CsvTable steps = prediction_table(predicted, context);
  if (!options.prediction.empty()) steps.write(options.prediction);
  if (!options.draw.empty())
    write_folder(options.draw, options, table, predicted.empty() ? nullptr : &steps);
  if (ceilings.empty()) {
    say("roofline: {}: the points have no roof\n", options.ceilings.empty()
                                                       ? "no --ceilings and no --chip"
                                                       : options.ceilings + " has no rows");
  }
  for (const Benchmark& row : data.benchmarks) {
    if (is_probe(row)) data.skipped.push_back({row.name, "a probe: ceilings come of it, no point"});
  }
  say("{}", skips_summary(data.skipped));
  fmt::print("{}", kernels_summary(points));
  if (!predicted.empty()) fmt::print("\n{}", prediction_summary(predicted));
  if (!options.draw.empty()) {
    const SignalGuard guard;
    print_drawn(draw({options.draw}), options.draw);
  }
  return 0;
}

}  // namespace

void add_analyze(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "analyze",
      "Lay any Google Benchmark JSON whose rows carry `flops` and `bytes` over ceilings");
  const auto options = std::make_shared<Options>();
  command->add_option("--bench", options->bench, "Google Benchmark JSON, one or more files")
      ->required();
  auto* ceilings =
      command->add_option("--ceilings", options->ceilings, "ceilings.csv of the machine it ran on");
  command->add_option("--chip", options->chip, "Advertised roofs of a chip instead (see specs)")
      ->excludes(ceilings);
  command->add_option("--out", options->out, "Where roofline.csv is written");
  command->add_option("--prediction", options->prediction,
                      "Where prediction.csv is written: programs with parts, such as decode steps");
  command
      ->add_option("--draw", options->draw,
                   "New folder for page and pictures, with roofline.csv and the ceilings")
      ->needs(ceilings);
  command->add_option("--device", options->defaults.device, "For rows that do not say: cpu or gpu")
      ->check(CLI::IsMember({"cpu", "gpu"}));
  command->add_option("--dtype", options->defaults.dtype, "For rows that do not say: f32, bf16 …");
  command->add_option("--exec-unit", options->defaults.exec_unit,
                      "For rows that do not say: simd-avx2, mma … (else the best of the dtype)");
  command->add_option("--threads", options->defaults.threads, "For rows that do not say (1)")
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("--level", options->defaults.level,
                   "Memory level of rows that have only `bytes`")
      ->check(CLI::IsMember({"L1", "L2", "L3", "L4", "DRAM", "HBM"}));
  command->callback([options, &exit_code] { exit_code = analyze(*options); });
}

}  // namespace roofline::cli
