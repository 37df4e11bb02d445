#include "roofline/compare/side.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/statistics.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/ceilings/roofs.hpp"
#include "roofline/check/facts.hpp"
#include "roofline/overlay/analysis.hpp"
#include "roofline/results/run_folder.hpp"
#include "roofline/results/run_notes.hpp"
#include "roofline/results/unpacked.hpp"

namespace roofline::compare {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_results_folder(const fs::path& folder) {
  std::error_code error;
  return has_samples(folder) && fs::exists(folder / "machine.json", error);
}

double first_quartile(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

/// Of the quiet samples, however few; NaN without any.
double fastest(const Benchmark& row) {
  double time = std::nan("");
  for (std::size_t i = 0; i < row.quiet_at.size(); ++i) {
    if (row.quiet_at[i]) time = std::fmin(time, row.lived_times_s[i]);
  }
  return time;
}

/// Work / time, or the time itself where work is 0.
Figure figure_of(const Benchmark& row, double work, std::string unit) {
  Figure out;
  const std::vector<double>& times = row.times_s;
  out.is_time = work == 0;
  const auto figure = [&](double time) { return out.is_time ? time : work / time; };
  out.value = figure(first_quartile(times));
  out.best = figure(fastest(row));
  out.few_quiet = row.few_quiet();
  out.unit = std::move(unit);
  // 1.4826 x MAD estimates sigma; a quartile's error is about 1.36 sigma / sqrt(n) (normal
  // samples).
  out.log_error =
      1.4826 * 1.36 * relative_mad(times) / std::sqrt(static_cast<double>(times.size()));
  return out;
}

/// The benchmark that gave a ceiling: of its probes the one with its median.
const Benchmark* behind(const std::vector<Benchmark>& rows, const Ceiling& ceiling, double& work) {
  const Benchmark* best = nullptr;
  double nearest = 0;
  for (const Benchmark& row : rows) {
    const bool probe = row.device == ceiling.device &&
                       std::count(ceiling.probes.begin(), ceiling.probes.end(), row.name) > 0;
    if (!probe) continue;
    const double of_row = ceiling.resource == "latency"   ? 0
                          : ceiling.resource == "compute" ? row.flops
                                                          : row.bytes;
    const double time = median(row.times_s);
    const double off = std::abs(std::log((of_row > 0 ? of_row / time : time) / ceiling.measured));
    if (best && off >= nearest) continue;
    best = &row;
    nearest = off;
    work = of_row;
  }
  return best;
}

Run read_run(const fs::path& folder) {
  Run out;
  out.folder = folder.string();
  const fs::path file = folder / "machine.json";
  out.machine = parse_json(read_text(file), file.string());
  const Unpacked samples(folder);
  const CeilingContext context = context_of(check::machine_of({out.machine, file.string()}));
  const Analysis analysis = samples.read([&](const fs::path& path) {
    Analysis found = analyze_folder(path, context);
    if (found.data.benchmarks.empty()) {
      throw BadInput(fmt::format("{}: bench/*.json has no benchmarks", folder.string()));
    }
    const fs::path first = bench_files(path).front();
    out.context = parse_json(read_text(first), first.string()).value("context", json::object());
    return found;
  });
  const json record = run_record(folder);
  for (const char* field : kOfRun) {
    if (record.contains(field)) out.context[field] = record.at(field);
  }
  for (const Ceiling& ceiling : analysis.ceilings.rows) {
    if (hidden(analysis.ceilings.rows, ceiling) || ceiling.condition.starts_with("zeros")) continue;
    double work = 0;
    const Benchmark* row = behind(analysis.data.benchmarks, ceiling, work);
    if (!row) continue;
    Figure figure = figure_of(*row, work, rate_unit(ceiling.resource, ceiling.dtype));
    figure.in_core =
        ceiling.resource == "compute" || ceiling.level == "L1" || ceiling.level == "L2";
    out.ceilings[fmt::format("{} {}", ceiling.device, ceiling.id())] = std::move(figure);
  }
  for (const Benchmark& row : analysis.data.benchmarks) {
    if (is_probe(row)) continue;
    out.benchmarks[fmt::format("{} {}", row.device, row.name)] = figure_of(row, 0, "s");
  }
  return out;
}

}  // namespace

std::vector<Run> read_side(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw BadInput(fmt::format("{}: no such results folder", folder.string()));
  }
  if (is_results_folder(folder)) return {read_run(folder)};
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_results_folder(entry.path())) folders.push_back(entry.path());
  }
  if (folders.empty()) {
    throw BadInput(
        fmt::format("{}: neither a results folder (bench/ and machine.json) nor a folder "
                    "of such",
                    folder.string()));
  }
  std::sort(folders.begin(), folders.end());
  std::vector<Run> out;
  for (const fs::path& path : folders) out.push_back(read_run(path));
  return out;
}

}  // namespace roofline::compare
