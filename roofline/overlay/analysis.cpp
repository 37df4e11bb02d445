#include "roofline/overlay/analysis.hpp"

#include <fmt/format.h>

#include <map>

#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/prediction.hpp"
#include "roofline/overlay/roofline_csv.hpp"
#include "roofline/results/bench_json.hpp"
#include "roofline/results/quiet.hpp"
#include "roofline/results/run_folder.hpp"

namespace roofline {
namespace {

/// The point furthest above each ceiling, by device and the ceiling's id.
std::map<std::pair<std::string, std::string>, const Point*> points_above(
    const std::vector<Point>& points) {
  std::map<std::pair<std::string, std::string>, const Point*> out;
  for (const Point& point : points) {
    if (point.times_its_ceiling == 0) continue;
    const auto [found, fresh] = out.try_emplace({point.benchmark->device, point.roof}, &point);
    if (!fresh && point.times_its_ceiling > found->second->times_its_ceiling) {
      found->second = &point;
    }
  }
  return out;
}

}  // namespace

Analysis analyze_folder(const std::filesystem::path& folder, const CeilingContext& context) {
  Analysis out;
  out.data = read_bench_json(bench_files(folder));
  set_disturbed_apart(out.data.benchmarks, context.issue_per_cycle);
  out.ceilings = ceilings_from(out.data.benchmarks, context);
  out.points = overlay(out.data.benchmarks, out.ceilings.rows);
  out.counted = counted_overlay(out.data.benchmarks, out.ceilings.rows);
  const auto above = points_above(out.points);
  for (Ceiling& ceiling : out.ceilings.rows) {
    const auto found = above.find({ceiling.device, ceiling.id()});
    if (found == above.end() || !limits(out.ceilings.rows, ceiling)) continue;
    flag(ceiling, "below-kernel",
         fmt::format("{} is {:.1f} % above it", found->second->benchmark->name,
                     100 * (found->second->times_its_ceiling - 1)));
  }
  return out;
}

std::set<std::string> doubtful_probes(const Analysis& analysis) {
  std::set<std::string> out;
  const auto& rows = analysis.ceilings.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].verdict == "ok" || hidden(rows, rows[i])) continue;
    out.insert(rows[i].probes.begin(), rows[i].probes.end());
    // The level before it may be the one that is wrong.
    if (rows[i].verdict.find("out-of-order") != std::string::npos) {
      out.insert(rows[i - 1].probes.begin(), rows[i - 1].probes.end());
    }
  }
  return out;
}

void write_tables(const Analysis& analysis, const std::filesystem::path& folder,
                  const CeilingContext& context) {
  ceilings_table(analysis.ceilings.rows).write(folder / "ceilings.csv");
  sweep_table(analysis.ceilings.sweep, context).write(folder / "sweep.csv");
  roofline_table(analysis.points, analysis.counted, context).write(folder / "roofline.csv");
  const auto predicted = predictions(analysis.points);
  if (!predicted.empty()) prediction_table(predicted, context).write(folder / "prediction.csv");
}

}  // namespace roofline
