#include "roofline/overlay/overlay.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "roofline/base/statistics.hpp"
#include "roofline/overlay/beside.hpp"
#include "roofline/overlay/judge.hpp"
#include "roofline/overlay/roof_choice.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

/// Bounds of programs from those of their parts; a program's points stand before its parts'. What a
/// part does not move across a level takes no time there. The sum may be beyond the time where no
/// bound of the whole is.
void add_up_parts(std::vector<Point>& points) {
  for (std::size_t first = 0; first < points.size();) {
    const Benchmark& program = *points[first].benchmark;
    std::size_t own = first;
    while (own < points.size() && points[own].benchmark == &program) ++own;
    std::size_t end = own;
    double lower = 0, all = 0, math = 0;
    const Benchmark* part = nullptr;
    while (end < points.size() && points[end].benchmark->parent == program.name &&
           !points[end].benchmark->part.empty()) {
      if (points[end].benchmark != part) {
        part = points[end].benchmark;
        lower += points[end].t_lower_s;
        all += points[end].t_all_s;
        math += points[end].t_math_s;
      }
      ++end;
    }
    for (std::size_t i = first; i < own && part != nullptr; ++i) {
      points[i].t_lower_s = lower;
      points[i].t_all_s = all;
      points[i].t_math_s = math;
      points[i].t_upper_s = math + points[i].t_level_s;
      const bool judged = points[i].verdict != "above-roof" && points[i].verdict != "no-roof";
      if (judged && is_beyond(points[i], lower)) {
        points[i].verdict = "impossible";
      }
    }
    first = end;
  }
}

/// The fastest library at each work.
class Peers {
 public:
  explicit Peers(const std::vector<Benchmark>& rows) {
    for (const Benchmark& row : rows) {
      if (row.library.empty()) continue;
      const double time = median(row.times_s);
      const auto [found, fresh] = fastest_.try_emplace(row.work(), time, &row);
      if (!fresh && time < found->second.first) found->second = {time, &row};
    }
  }
  void set(Point& point) const {
    const Benchmark& row = *point.benchmark;
    const auto found = fastest_.find(row.work());
    if (!row.library.empty() || found == fastest_.end()) return;
    const Benchmark& library = *found->second.second;
    point.peer = library.library;
    point.peer_ratio = paired_ratio(row, library);
  }

 private:
  std::map<Benchmark::Work, std::pair<double, const Benchmark*>> fastest_;
};

}  // namespace

std::vector<Point> overlay(const std::vector<Benchmark>& rows,
                           const std::vector<Ceiling>& all_ceilings) {
  const std::vector<Ceiling> ceilings = roofs_of(all_ceilings);
  const Peers peers(rows);
  const auto neighbours = neighbours_of(rows);
  std::vector<Point> out;
  Beside beside;
  for (const Benchmark& row : rows) {
    if (is_probe(row)) continue;
    if (row.part.empty()) beside = Beside(row, neighbours.at(row.source));  // its parts follow it
    const Done done{row.flops, row.level_bytes, row.bytes_source};
    for (Point& point : judge(row, done, ceilings, beside)) {
      peers.set(point);
      out.push_back(std::move(point));
    }
  }
  add_up_parts(out);
  return out;
}

std::vector<Point> counted_overlay(const std::vector<Benchmark>& rows,
                                   const std::vector<Ceiling>& all_ceilings) {
  const std::vector<Ceiling> ceilings = roofs_of(all_ceilings);
  const Peers peers(rows);
  std::vector<Point> out;
  for (const Benchmark& row : rows) {
    if (is_probe(row) || !row.part.empty() || row.counted_bytes.empty()) continue;
    const Done done{std::isnan(row.counted_flops) ? row.flops : row.counted_flops,
                    row.counted_bytes, "counter"};
    for (Point& point : judge(row, done, ceilings, {})) {
      peers.set(point);
      out.push_back(std::move(point));
    }
  }
  return out;
}

}  // namespace roofline
