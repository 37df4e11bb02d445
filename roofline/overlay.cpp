#include "roofline/overlay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "roofline/model.hpp"
#include "roofline/quiet.hpp"
#include "roofline/statistics.hpp"

namespace roofline {
namespace {

/// A spec chip's: nothing measured stands in for it.
bool is_of_spec(const Ceiling& ceiling) { return ceiling.device.empty(); }

bool serves(const Ceiling& ceiling, const Benchmark& row, std::string_view resource) {
  if (ceiling.resource != resource || std::isnan(ceiling.value())) return false;
  if (is_of_spec(ceiling)) return true;
  return ceiling.device == row.device && (row.device == "gpu" || ceiling.threads == row.threads);
}

/// A spec chip has one main memory, whatever the rows call theirs.
bool same_level(const Ceiling& ceiling, std::string_view level) {
  return ceiling.level == level ||
         (is_of_spec(ceiling) && ceiling.level == "HBM" && level == "DRAM");
}

const Ceiling* compute_roof(const Benchmark& row, const std::vector<Ceiling>& ceilings) {
  const Ceiling* own = nullptr;
  const Ceiling* vector = nullptr;
  const Ceiling* best = nullptr;
  const auto keep = [](const Ceiling*& kept, const Ceiling& ceiling) {
    if (!kept || is_better_roof(ceiling, *kept)) kept = &ceiling;
  };
  for (const Ceiling& ceiling : ceilings) {
    if (!serves(ceiling, row, "compute") || ceiling.dtype != row.roof_dtype) continue;
    if (!is_roof(ceiling)) continue;
    keep(best, ceiling);
    if (!is_matrix_unit(ceiling.exec_unit)) keep(vector, ceiling);
    if (ceiling.exec_unit == row.exec_unit) keep(own, ceiling);
  }
  // What no probe issues, and is faster than what one does.
  if (own || row.exec_unit == "tcgen05") return own;
  // A vector kernel is not to be held against the ridge of a unit that it does not use, where there
  // is another.
  const bool by_vectors = !row.exec_unit.empty() && !is_matrix_unit(row.exec_unit);
  return by_vectors && vector ? vector : best;
}

const Ceiling* bandwidth_roof(const Benchmark& row, std::string_view level,
                              const std::vector<Ceiling>& ceilings) {
  const Ceiling* best = nullptr;
  for (const Ceiling& ceiling : ceilings) {
    if (serves(ceiling, row, "bandwidth") && same_level(ceiling, level) &&
        ceiling.operation == "read" && (!best || is_better_roof(ceiling, *best))) {
      best = &ceiling;
    }
  }
  return best;
}

/// Launch or start-up time of a call: benchmarks are launched one by one on a stream, so at the
/// rate of that, or else at the best one seen; 0 where none is known, as on a CPU, and for a part
/// of a program, whose share of the program's launches nobody tells.
double launch_time(const Benchmark& row, const std::vector<Ceiling>& ceilings) {
  if (!row.part.empty()) return 0;
  double best = kUnknownNumber, on_stream = kUnknownNumber;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.device != row.device || ceiling.resource != "latency" || ceiling.level != "launch")
      continue;
    best = std::fmin(best, ceiling.value());
    if (ceiling.operation.ends_with("_stream")) on_stream = std::fmin(on_stream, ceiling.value());
  }
  const double time = std::isnan(on_stream) ? best : on_stream;
  return std::isnan(time) ? 0 : time * row.launches;
}

/// A peak in theory at the clock that a benchmark ran at, which heavy work may lower; at the
/// probe's own where either is unknown.
double theory_at(double clock_hz, const Ceiling& peak) {
  const bool known = clock_hz > 0 && peak.clock_hz > 0;
  return peak.theory_at_clock * (known ? clock_hz / peak.clock_hz : 1);
}

/// NaN where either side is unknown.
double attainable(double intensity, double compute, double bandwidth) {
  if (std::isnan(compute) || std::isnan(bandwidth)) return kUnknownNumber;
  return attainable_flops_per_s(intensity, compute, bandwidth);
}

/// A roof's rate, and how many times as high it may be: the upper end of its interval over it.
struct Rate {
  double value = kUnknownNumber, uncertainty = 1;
};

Rate rate_of(const Ceiling* roof) {
  if (!roof) return {};
  const double high = std::isnan(roof->measured_high) ? roof->value() : roof->measured_high;
  return {roof->value(), high / roof->value()};
}

struct LevelTime {
  const Ceiling* roof = nullptr;
  Rate rate;
  double seconds = kUnknownNumber;
};

bool has_own_memory(const Benchmark& row) {
  return std::any_of(row.beside.begin(), row.beside.end(), [](const Surroundings& beside) {
    return !std::isnan(beside.own_memory_bytes_per_s);
  });
}

/// What was measured beside the benchmarks of a file.
struct Neighbours {
  std::vector<const Benchmark*> probes;
  const Benchmark* own_memory = nullptr;  ///< the first kernel whose program has read its memory
};

/// Of each file.
std::map<std::string, Neighbours> neighbours_of(const std::vector<Benchmark>& rows) {
  std::map<std::string, Neighbours> out;
  for (const Benchmark& row : rows) {
    Neighbours& here = out[row.source];
    if (!row.roof_of.empty()) here.probes.push_back(&row);
    if (!here.own_memory && row.part.empty() && has_own_memory(row)) here.own_memory = &row;
  }
  return out;
}

/// The roofs of one benchmark as they were while it was measured.
class Beside {
 public:
  /// None.
  Beside() = default;
  Beside(const Benchmark& row, const Neighbours& here) : row_(&row), probes_(here.probes) {
    memory_ = memory_of(row, row);
    // A library's kernel reads copies of what ours read.
    if (std::isnan(memory_.value) && here.own_memory) memory_ = memory_of(row, *here.own_memory);
    if (std::isnan(memory_.value))
      memory_ = rate(&Benchmark::bytes, [](const Benchmark& probe) { return probe.bytes > 0; });
  }

  /// Bytes/s of the main memory, of the row's own where its program has read that, else of that of
  /// a kernel measured in turns with it, else by the fastest probe. Unknown without one.
  const Rate& memory() const { return memory_; }
  /// FLOP/s of the unit that `roof` is of.
  Rate compute(const Ceiling* roof) const {
    if (!roof || is_of_spec(*roof)) return {};
    return rate(&Benchmark::flops, [&](const Benchmark& probe) {
      return probe.flops > 0 && probe.roof_dtype == roof->dtype &&
             probe.exec_unit == roof->exec_unit;
    });
  }

 private:
  /// By the bytes that the memory would have brought in a sample's time, as `reader` has seen it.
  static Rate memory_of(const Benchmark& row, const Benchmark& reader) {
    std::vector<double> bytes;
    for (std::size_t i = 0; i < std::min(reader.beside.size(), row.lived_times_s.size()); ++i) {
      const bool counts = !row.quiet() || i >= row.quiet_at.size() || row.quiet_at[i];
      const double could = row.lived_times_s[i] * reader.beside[i].own_memory_bytes_per_s;
      if (counts && !std::isnan(could)) bytes.push_back(could);
    }
    if (bytes.empty()) return {};
    const double middle = median(bytes);
    const auto interval = median_interval(bytes);
    const double most = interval ? interval->second : *std::max_element(bytes.begin(), bytes.end());
    return {middle / median(row.times_s), most / middle};
  }

  /// Of the probe that is fastest in its pairs of samples with the row.
  template <class Serves>
  Rate rate(double Benchmark::*work, const Serves& serves) const {
    Rate best;
    for (const Benchmark* probe : probes_) {
      if (!serves(*probe)) continue;
      const auto ratios = ratios_to(*probe);
      if (ratios.empty()) continue;
      const double ratio = median(ratios);
      const double speed = probe->*work / (ratio * median(row_->times_s));
      if (speed <= best.value) continue;
      const auto interval = median_interval(ratios);
      const double least =
          interval ? interval->first : *std::min_element(ratios.begin(), ratios.end());
      best = {speed, ratio / least};
    }
    return best;
  }

  /// Of pairs that are quiet on both sides, unknown if they are too few; of all pairs where all
  /// samples of the row count.
  std::vector<double> ratios_to(const Benchmark& probe) const {
    auto ratios = paired_ratios(*row_, probe);
    if (ratios.empty() && !row_->quiet()) ratios = lived_ratios(*row_, probe);
    return ratios;
  }

  const Benchmark* row_ = nullptr;
  std::vector<const Benchmark*> probes_;
  Rate memory_;
};

std::string on_threads(const Benchmark& row) {
  if (row.device == "gpu") return {};
  return fmt::format(" on {} thread{}", row.threads, row.threads == 1 ? "" : "s");
}

/// What a call does, as the model or the counters have it.
struct Done {
  double flops;
  const std::vector<std::pair<std::string, double>>& level_bytes;
  std::string source;
};

/// The points of one benchmark.
std::vector<Point> points_of(const Benchmark& row, const Done& done,
                             const std::vector<Ceiling>& ceilings, const Beside& beside) {
  Point common;
  common.benchmark = &row;
  common.flops = done.flops;
  common.bytes_source = done.source;
  common.time_s = median(row.times_s);
  if (const auto interval = median_interval(row.times_s)) {
    std::tie(common.time_low_s, common.time_high_s) = *interval;
  }
  common.achieved_flops_per_s = done.flops / common.time_s;

  const auto beyond = [&](double seconds, const Rate& rate) {
    return is_beyond(common, seconds, rate.uncertainty);
  };
  const bool not_quiet = row.few_quiet();
  // A probe beside samples that are not quiet was disturbed too: what was faster, its ceiling
  // limits.
  const auto held_by = [&](const Rate& near, const Ceiling* roof, double work) {
    const Rate whole = rate_of(roof);
    const bool disturbed = not_quiet && near.value < whole.value && beyond(work / near.value, near);
    return std::isnan(near.value) || disturbed ? whole : near;
  };

  const Ceiling* compute = done.flops > 0 ? compute_roof(row, ceilings) : nullptr;
  if (compute && !is_of_spec(*compute) && !row.exec_unit.empty() &&
      compute->exec_unit != row.exec_unit) {
    common.stand_in = fmt::format("no {} peak of {}{}: held against {}", row.roof_dtype,
                                  row.exec_unit, on_threads(row), compute->exec_unit);
  }
  const bool compute_known = compute || done.flops == 0;
  const Rate peak_beside = beside.compute(compute);
  const Rate peak = held_by(peak_beside, compute, done.flops);
  const double t_math = done.flops == 0 ? 0 : compute ? done.flops / peak.value : kUnknownNumber;
  const double t_launch = launch_time(row, ceilings);

  Work work{done.flops, peak.value, {}, t_launch};
  std::vector<LevelTime> times;
  bool all_known = compute_known;
  for (const auto& [level, bytes] : done.level_bytes) {
    LevelTime time{.roof = bandwidth_roof(row, level, ceilings)};
    const bool main_memory = time.roof && level == "DRAM" && !is_of_spec(*time.roof);
    time.rate = held_by(main_memory ? beside.memory() : Rate{}, time.roof, bytes);
    time.seconds = bytes > 0 ? bytes / time.rate.value : 0;
    times.push_back(time);
    // Of a level before the last one the roof may be missing: L3 on cores whose share of it is no
    // larger than their L2.
    const bool known = !std::isnan(time.seconds), last = times.size() == done.level_bytes.size();
    if (known) work.levels.push_back({level, bytes, time.rate.value});
    all_known = all_known && (known || !last);
  }
  if (all_known) {
    const Bounds whole = bounds(work);
    if (whole.t_lower > 0) {
      common.bound_by = whole.bound;
      common.t_lower_s = whole.t_lower;
    }
  }

  bool impossible = beyond(t_math, peak) || is_beyond(common, t_launch);
  for (const LevelTime& time : times) impossible = impossible || beyond(time.seconds, time.rate);

  const double fall = clock_fall(row, row.quiet());
  // Wide arithmetic lowers the clock: a read probe without any keeps another one than the kernel.
  const auto clock_moved = [&](const Ceiling* roof) {
    const bool comparable = roof == compute && compute && std::isnan(peak_beside.value);
    return fall > kClockMoved ||
           (comparable && std::abs(row.clock_hz / roof->clock_hz - 1) > kClockMoved);
  };
  const bool disagree = disagreement(row.times_s) > kDisagreement;

  std::vector<Point> out;
  const auto add = [&](const std::string& level, double bytes, const LevelTime& time) {
    Point point = common;
    point.level = level;
    point.bytes = bytes;
    if (bytes > 0) {
      point.intensity = done.flops / bytes;
      point.achieved_bytes_per_s = bytes / common.time_s;
    }
    point.t_math_s = t_math;
    point.t_level_s = time.seconds;
    const bool known =
        compute_known && !std::isnan(time.seconds) && std::max(t_math, time.seconds) > 0;
    const bool by_level = time.seconds > t_math;
    const Ceiling* limit = by_level ? time.roof : compute;
    if (known) {
      const double t_roof = std::max(t_math, time.seconds);
      point.roof_flops_per_s = done.flops / t_roof;
      point.fraction_of_roof = t_roof / common.time_s;
      point.roof = limit->id();
      point.t_upper_s = t_math + time.seconds;
      if (compute && time.roof) {
        point.ridge_intensity = ridge_intensity(peak.value, time.rate.value);
        point.theory_roof_flops_per_s = attainable(
            point.intensity, theory_at(row.clock_hz, *compute), time.roof->theory_at_clock);
        point.advertised_roof_flops_per_s =
            attainable(point.intensity, compute->advertised, time.roof->advertised);
      }
    }
    const bool above = known && (by_level ? beyond(time.seconds, time.rate) : beyond(t_math, peak));
    // The ceiling's own time, which is another one where its roof was measured beside.
    const double t_ceiling = limit ? (by_level ? bytes : done.flops) / limit->value() : 0;
    if (known && beyond(t_ceiling, rate_of(limit))) {
      point.times_its_ceiling = t_ceiling / common.time_s;
    }
    if (!compute_known) {
      point.missing =
          fmt::format("no {} peak{}{}", row.roof_dtype,
                      row.exec_unit.empty() ? "" : " of " + row.exec_unit, on_threads(row));
    } else if (std::isnan(time.seconds)) {
      point.missing = fmt::format("no reads of {}{}", level, on_threads(row));
    }
    point.verdict = !known                       ? "no-roof"
                    : above                      ? "above-roof"
                    : impossible                 ? "impossible"
                    : not_quiet                  ? "not-quiet"
                    : point.fraction_of_roof > 1 ? "at-roof"
                    : clock_moved(limit)         ? "clock-moved"
                    : disagree                   ? "samples-disagree"
                                                 : "ok";
    out.push_back(std::move(point));
  };
  for (std::size_t i = 0; i < done.level_bytes.size(); ++i) {
    add(done.level_bytes[i].first, done.level_bytes[i].second, times[i]);
  }
  if (done.level_bytes.empty()) add("", kUnknownNumber, {.seconds = 0});
  return out;
}

/// Bounds of programs from those of their parts; a program's points stand before its parts'. What a
/// part does not move across a level takes no time there. The sum may be beyond the time where no
/// bound of the whole is.
void add_up_parts(std::vector<Point>& points) {
  for (std::size_t first = 0; first < points.size();) {
    const Benchmark& program = *points[first].benchmark;
    std::size_t own = first;
    while (own < points.size() && points[own].benchmark == &program) ++own;
    std::size_t end = own;
    double lower = 0, math = 0;
    const Benchmark* part = nullptr;
    while (end < points.size() && points[end].benchmark->parent == program.name &&
           !points[end].benchmark->part.empty()) {
      if (points[end].benchmark != part) {
        part = points[end].benchmark;
        lower += points[end].t_lower_s;
        math += points[end].t_math_s;
      }
      ++end;
    }
    for (std::size_t i = first; i < own && part != nullptr; ++i) {
      points[i].t_lower_s = lower;
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
      const auto [found, fresh] = fastest_.try_emplace(work(row), time, &row);
      if (!fresh && time < found->second.first) found->second = {time, &row};
    }
  }
  void set(Point& point) const {
    const Benchmark& row = *point.benchmark;
    const auto found = fastest_.find(work(row));
    if (!row.library.empty() || found == fastest_.end()) return;
    const Benchmark& library = *found->second.second;
    point.peer = library.library;
    point.peer_ratio = paired_ratio(row, library);
  }

 private:
  using Work = std::tuple<std::string, std::string, std::string, std::string, std::string, int>;
  static Work work(const Benchmark& row) {
    return {row.device, row.kernel, row.dtype, row.shape, row.temperature, row.threads};
  }
  std::map<Work, std::pair<double, const Benchmark*>> fastest_;
};

/// Those that stand for a limit: what was measured in quiet moments, where there is such a one.
std::vector<Ceiling> roofs_of(const std::vector<Ceiling>& ceilings) {
  std::vector<Ceiling> out;
  std::copy_if(ceilings.begin(), ceilings.end(), std::back_inserter(out),
               [&](const Ceiling& ceiling) { return !hidden(ceilings, ceiling); });
  return out;
}

}  // namespace

bool is_beyond(const Point& point, double seconds, double uncertainty) {
  const double slowest = std::isnan(point.time_high_s) ? point.time_s : point.time_high_s;
  return slowest * (1 + kClockUncertainty) < seconds / uncertainty ||
         point.time_s * (1 + kLargestUncertainty) < seconds;
}

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
    for (Point& point : points_of(row, done, ceilings, beside)) {
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
    for (Point& point : points_of(row, done, ceilings, {})) {
      peers.set(point);
      out.push_back(std::move(point));
    }
  }
  return out;
}

CsvTable roofline_table(std::vector<Point> points, const std::vector<Point>& counted,
                        const CeilingContext& context) {
  points.insert(points.end(), counted.begin(), counted.end());
  return roofline_table(points, context);
}

CsvTable roofline_table(const std::vector<Point>& points, const CeilingContext& context) {
  CsvTable table(kRooflineColumns);
  for (const Point& point : points) {
    const Benchmark& row = *point.benchmark;
    table.add_row();
    table.set("machine", context.machine_of(row.device));
    table.set("device", row.device);
    table.set("scope", row.scope);
    table.set("parent", row.parent);
    table.set("kernel", row.kernel);
    table.set("variant", row.variant);
    table.set("dtype", row.dtype);
    table.set("exec_unit", row.exec_unit);
    table.set("shape", row.shape);
    table.set("temperature", row.temperature);
    table.set("threads", row.threads);
    table.set("working_set_bytes", row.working_set_bytes);
    table.set("time_s", point.time_s);
    table.set("time_low_s", point.time_low_s);
    table.set("time_high_s", point.time_high_s);
    table.set("samples", static_cast<double>(row.times_s.size()));
    table.set("samples_rejected", row.samples_rejected());
    table.set("clock_hz", row.clock_hz);
    table.set("power_w", row.power_w);
    table.set("throttle", row.throttle);
    table.set("flops", point.flops);
    table.set("level", point.level);
    table.set("bytes", point.bytes);
    table.set("bytes_source", point.bytes_source);
    table.set("intensity", point.intensity);
    table.set("achieved_flops_per_s", point.achieved_flops_per_s);
    table.set("achieved_bytes_per_s", point.achieved_bytes_per_s);
    table.set("roof", point.roof);
    table.set("roof_flops_per_s", point.roof_flops_per_s);
    table.set("ridge_intensity", point.ridge_intensity);
    table.set("bound_by", point.bound_by);
    table.set("t_lower_s", point.t_lower_s);
    table.set("t_upper_s", point.t_upper_s);
    table.set("fraction_of_roof", point.fraction_of_roof);
    table.set("theory_roof_flops_per_s", point.theory_roof_flops_per_s);
    table.set("advertised_roof_flops_per_s", point.advertised_roof_flops_per_s);
    table.set("fraction_of_advertised",
              point.achieved_flops_per_s / point.advertised_roof_flops_per_s);
    table.set("peer", point.peer);
    table.set("peer_ratio", point.peer_ratio);
    table.set("verdict", point.verdict);
  }
  return table;
}

}  // namespace roofline
