#include "roofline/overlay/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "roofline/base/statistics.hpp"
#include "roofline/model.hpp"
#include "roofline/overlay/roof_choice.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

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

std::string on_threads(const Benchmark& row) {
  if (row.device == "gpu") return {};
  return fmt::format(" on {} thread{}", row.threads, row.threads == 1 ? "" : "s");
}

/// What the bytes of one level take.
struct LevelTime {
  const Ceiling* roof = nullptr;
  Rate rate;
  double seconds = kUnknownNumber;
};

class Judge {
 public:
  Judge(const Benchmark& row, const Done& done, const std::vector<Ceiling>& ceilings,
        const Beside& beside)
      : row_(row), done_(done) {
    take_time();
    take_compute(ceilings, beside);
    take_levels(ceilings, beside);
    take_bounds(launch_time(row, ceilings));
  }

  std::vector<Point> points() const {
    std::vector<Point> out;
    for (std::size_t i = 0; i < times_.size(); ++i)
      out.push_back(point(done_.level_bytes[i].first, done_.level_bytes[i].second, times_[i]));
    if (times_.empty()) out.push_back(point("", kUnknownNumber, {.seconds = 0}));
    return out;
  }

 private:
  void take_time() {
    common_.benchmark = &row_;
    common_.flops = done_.flops;
    common_.bytes_source = done_.source;
    common_.time_s = median(row_.times_s);
    if (const auto interval = median_interval(row_.times_s))
      std::tie(common_.time_low_s, common_.time_high_s) = *interval;
    common_.achieved_flops_per_s = done_.flops / common_.time_s;
  }

  void take_compute(const std::vector<Ceiling>& ceilings, const Beside& beside) {
    if (done_.flops > 0) compute_ = compute_roof(row_, ceilings);
    if (compute_ && !is_of_spec(*compute_) && !row_.exec_unit.empty() &&
        compute_->exec_unit != row_.exec_unit) {
      common_.stand_in = fmt::format("no {} peak of {}{}: held against {}", row_.roof_dtype,
                                     row_.exec_unit, on_threads(row_), compute_->exec_unit);
    }
    const Rate near = beside.compute(compute_);
    peak_beside_ = counts(near, compute_, done_.flops);
    peak_ = peak_beside_ ? near : rate_of(compute_);
    if (compute_ && !peak_beside_) peak_.uncertainty *= clock_above(*compute_);
    t_math_ = done_.flops == 0 ? 0 : compute_ ? done_.flops / peak_.value : kUnknownNumber;
  }

  void take_levels(const std::vector<Ceiling>& ceilings, const Beside& beside) {
    for (const auto& [level, bytes] : done_.level_bytes) {
      LevelTime time{.roof = bandwidth_roof(row_, level, ceilings)};
      const bool main_memory = time.roof && level == "DRAM" && !is_of_spec(*time.roof);
      const Rate near = main_memory ? beside.memory() : Rate{};
      time.rate = counts(near, time.roof, bytes) ? near : rate_of(time.roof);
      time.seconds = bytes > 0 ? bytes / time.rate.value : 0;
      times_.push_back(time);
    }
  }

  void take_bounds(double t_launch) {
    Work work{done_.flops, peak_.value, {}, t_launch};
    impossible_ = beyond(t_math_, peak_) || is_beyond(common_, t_launch);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const auto& [level, bytes] = done_.level_bytes[i];
      if (!std::isnan(times_[i].seconds))
        work.levels.push_back({level, bytes, times_[i].rate.value});
      impossible_ = impossible_ || beyond(times_[i].seconds, times_[i].rate);
    }
    // Of a level before the last one the roof may be missing: L3 on cores whose share of it is no
    // larger than their L2.
    const bool last_known = times_.empty() || !std::isnan(times_.back().seconds);
    if (!compute_known() || !last_known) return;
    if (const Bounds whole = bounds(work); whole.t_lower > 0) {
      common_.bound_by = whole.bound;
      common_.t_lower_s = whole.t_lower;
      if (work.levels.size() == times_.size()) common_.t_all_s = whole.t_upper;
    }
  }

  bool compute_known() const { return compute_ || done_.flops == 0; }

  bool beyond(double seconds, const Rate& rate) const {
    return is_beyond(common_, seconds, rate.uncertainty);
  }

  /// Whether what a probe beside gave limits. One beside samples that are not quiet was disturbed
  /// too: what was faster, its ceiling limits.
  bool counts(const Rate& near, const Ceiling* roof, double work) const {
    const bool disturbed =
        row_.few_quiet() && near.value < rate_of(roof).value && beyond(work / near.value, near);
    return !std::isnan(near.value) && !disturbed;
  }

  Point point(const std::string& level, double bytes, const LevelTime& time) const {
    Point point = common_;
    point.level = level;
    point.bytes = bytes;
    if (bytes > 0) {
      point.intensity = done_.flops / bytes;
      point.achieved_bytes_per_s = bytes / common_.time_s;
    }
    point.t_math_s = t_math_;
    point.t_level_s = time.seconds;
    if (!compute_known()) {
      point.missing =
          fmt::format("no {} peak{}{}", row_.roof_dtype,
                      row_.exec_unit.empty() ? "" : " of " + row_.exec_unit, on_threads(row_));
    } else if (std::isnan(time.seconds)) {
      point.missing = fmt::format("no reads of {}{}", level, on_threads(row_));
    }
    const double t_roof = std::max(t_math_, time.seconds);
    if (!point.missing.empty() || t_roof <= 0) {
      point.verdict = impossible_ ? "impossible" : "no-roof";
      return point;
    }
    const bool by_level = time.seconds > t_math_;
    const Ceiling& limit = by_level ? *time.roof : *compute_;
    point.roof_flops_per_s = done_.flops / t_roof;
    point.fraction_of_roof = t_roof / common_.time_s;
    point.roof = limit.id();
    point.t_upper_s = t_math_ + time.seconds;
    if (compute_ && time.roof) {
      point.ridge_intensity = ridge_intensity(peak_.value, time.rate.value);
      point.theory_roof_flops_per_s = attainable(
          point.intensity, theory_at(row_.clock_hz, *compute_), time.roof->theory_at_clock);
      point.advertised_roof_flops_per_s =
          attainable(point.intensity, compute_->advertised, time.roof->advertised);
    }
    // The ceiling's own time, which is another one where its roof was measured beside.
    const double t_ceiling = (by_level ? bytes : done_.flops) / limit.value();
    Rate ceiling = rate_of(&limit);
    if (!by_level) ceiling.uncertainty *= clock_above(limit);
    if (beyond(t_ceiling, ceiling)) point.times_its_ceiling = t_ceiling / common_.time_s;
    const bool above = by_level ? beyond(time.seconds, time.rate) : beyond(t_math_, peak_);
    point.verdict = above                        ? "above-roof"
                    : impossible_                ? "impossible"
                    : row_.few_quiet()           ? "not-quiet"
                    : point.fraction_of_roof > 1 ? "at-roof"
                    : clock_moved(limit)         ? "clock-moved"
                    : samples_disagree()         ? "samples-disagree"
                                                 : "ok";
    return point;
  }

  /// How many times the clock of a peak's probe the row had, if more: so much higher the peak may
  /// have been beside it.
  double clock_above(const Ceiling& peak) const {
    const bool known = row_.clock_hz > 0 && peak.clock_hz > 0;
    return known ? std::max(1.0, row_.clock_hz / peak.clock_hz) : 1;
  }

  /// Wide arithmetic lowers the clock: a read probe without any keeps another one than the kernel.
  bool clock_moved(const Ceiling& roof) const {
    const bool comparable = &roof == compute_ && !peak_beside_;
    return clock_fall(row_, row_.quiet()) > kClockMoved ||
           (comparable && std::abs(row_.clock_hz / roof.clock_hz - 1) > kClockMoved);
  }

  bool samples_disagree() const { return disagreement(row_.times_s) > kDisagreement; }

  const Benchmark& row_;
  const Done& done_;
  Point common_;  ///< what the points of all levels tell
  const Ceiling* compute_ = nullptr;
  Rate peak_;
  bool peak_beside_ = false;  ///< whether it is what was measured beside the row
  double t_math_ = kUnknownNumber;
  std::vector<LevelTime> times_;  ///< of done_.level_bytes
  bool impossible_ = false;       ///< faster than one of its bounds, for certain
};

}  // namespace

std::vector<Point> judge(const Benchmark& row, const Done& done,
                         const std::vector<Ceiling>& ceilings, const Beside& beside) {
  return Judge(row, done, ceilings, beside).points();
}

}  // namespace roofline
