#include "roofline/overlay/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/schema.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/model.hpp"

namespace roofline {
namespace {

/// Impossible is what is so in roofline.csv, too.
void judge(Predicted& row) {
  if (std::isnan(row.t_upper_s) || !(row.t_lower_s > 0)) {
    row.verdict = "no-roof";
    return;
  }
  const double t = row.point->time_s;
  const std::string& verdict = row.point->verdict;
  const bool refused = is_refused(verdict);
  const Place at = place(t, row.t_lower_s, row.t_upper_s, kClockUncertainty).place;
  row.verdict = refused                                              ? "impossible"
                : at == Place::kExplained                            ? "explained"
                : std::abs(t / row.t_lower_s - 1) <= kNearPrediction ? "near"
                                                                     : "lost";
}

Predicted part_of(const Point& point) {
  Predicted out{.point = &point, .part = point.benchmark->part, .t_flops_s = point.t_math_s};
  if (is_main_memory(point.level)) {
    // Attention reads the KV cache, everything else weights.
    const bool kv = point.benchmark->part_op == "attention";
    (kv ? out.kv_bytes : out.parameter_bytes) = point.bytes;
    (kv ? out.t_kv_s : out.t_parameters_s) = point.t_level_s;
  }
  out.t_upper_s = out.t_flops_s + out.t_kv_s + out.t_parameters_s;
  out.t_lower_s = std::isnan(out.t_upper_s)
                      ? kUnknownNumber
                      : std::max({out.t_flops_s, out.t_kv_s, out.t_parameters_s});
  judge(out);
  if (!is_main_memory(point.level)) out.verdict = "overhead";
  return out;
}

}  // namespace

std::vector<Predicted> predictions(const std::vector<Point>& points) {
  std::vector<Predicted> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Benchmark& program = *points[i].benchmark;
    if (program.scope != "program" || !is_main_memory(points[i].level)) continue;
    Predicted whole{.point = &points[i]};
    std::vector<Predicted> parts;
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      const Point& point = points[j];
      if (point.benchmark == &program) continue;
      if (point.benchmark->part.empty() || point.benchmark->parent != program.name) break;
      const bool first = parts.empty() || parts.back().part != point.benchmark->part;
      if (first) parts.push_back(part_of(point));
      if (!first && is_main_memory(point.level)) parts.back() = part_of(point);
    }
    for (const Predicted& part : parts) {
      whole.parameter_bytes += part.parameter_bytes;
      whole.kv_bytes += part.kv_bytes;
      whole.t_parameters_s += part.t_parameters_s;
      whole.t_kv_s += part.t_kv_s;
      whole.t_flops_s += part.t_flops_s;
      whole.t_lower_s += part.t_lower_s;
      whole.t_upper_s += part.t_upper_s;
    }
    if (parts.empty()) continue;
    judge(whole);
    out.push_back(whole);
    out.insert(out.end(), parts.begin(), parts.end());
  }
  return out;
}

CsvTable prediction_table(const std::vector<Predicted>& rows, const CeilingContext& context) {
  CsvTable table(kPredictionColumns);
  for (const Predicted& row : rows) {
    const Benchmark& benchmark = *row.point->benchmark;
    table.add_row();
    table.set("machine", context.machine_of(benchmark.device));
    table.set("device", benchmark.device);
    table.set("program", row.part.empty() ? benchmark.name : benchmark.parent);
    table.set("variant", benchmark.variant);
    table.set("dtype", benchmark.dtype);
    table.set("part", row.part.empty() ? "step" : row.part);
    table.set("time_s", row.point->time_s);
    table.set("time_low_s", row.point->time_low_s);
    table.set("time_high_s", row.point->time_high_s);
    table.set("flops", benchmark.flops);
    table.set("parameter_bytes", row.parameter_bytes);
    table.set("kv_bytes", row.kv_bytes);
    table.set("t_parameters_s", row.t_parameters_s);
    table.set("t_kv_s", row.t_kv_s);
    table.set("t_flops_s", row.t_flops_s);
    table.set("t_lower_s", row.t_lower_s);
    table.set("t_upper_s", row.t_upper_s);
    table.set("overhead_s", row.overhead_s());
    if (row.verdict != "overhead") table.set("error", row.error());
    table.set("verdict", row.verdict);
  }
  return table;
}

std::string prediction_summary(const std::vector<Predicted>& rows) {
  std::vector<std::vector<std::string>> lines = {{"measured step", "time", "T_lower", "T_upper",
                                                  "parameters", "KV", "FLOPs", "error", "",
                                                  "largest overheads"}};
  std::size_t steps = 0, kept = 0, without_roof = 0;
  Stars stars;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Predicted& row = rows[i];
    if (!row.part.empty()) continue;
    std::vector<const Predicted*> parts;
    for (std::size_t j = i + 1; j < rows.size() && !rows[j].part.empty(); ++j) {
      if (!std::isnan(rows[j].overhead_s())) parts.push_back(&rows[j]);
    }
    std::sort(parts.begin(), parts.end(), [](const Predicted* a, const Predicted* b) {
      return a->overhead_s() > b->overhead_s();
    });
    std::string rest;
    for (std::size_t j = 0; j < std::min<std::size_t>(2, parts.size()); ++j) {
      rest += fmt::format("{}{} {}", j > 0 ? ", " : "", printable(parts[j]->part),
                          with_prefix(parts[j]->overhead_s(), "s"));
    }
    ++steps;
    kept += row.verdict == "explained" || row.verdict == "near";
    without_roof += row.verdict == "no-roof";
    lines.push_back({printable(row.point->benchmark->name),
                     with_prefix(row.point->time_s, "s") + stars.of(row.point->verdict),
                     with_prefix(row.t_lower_s, "s"), with_prefix(row.t_upper_s, "s"),
                     with_prefix(row.t_parameters_s, "s"), with_prefix(row.t_kv_s, "s"),
                     with_prefix(row.t_flops_s, "s"),
                     std::isnan(row.error()) ? "-" : fmt::format("{:+.0f} %", 100 * row.error()),
                     row.verdict, rest});
  }
  if (steps == 0) return {};
  return aligned(lines, 1) + stars.lines() +
         fmt::format("{} of {} steps between T_lower and T_upper, or within {:.0f} % of T_lower\n",
                     kept, steps, 100 * kNearPrediction) +
         (without_roof > 0
              ? fmt::format("{} of them held against nothing: a ceiling is unknown\n", without_roof)
              : "");
}

}  // namespace roofline
