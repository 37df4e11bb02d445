// A benchmark held against its roofs at one memory level.
#pragma once

#include <string>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// One row of roofline.csv; see kRooflineColumns.
struct Point {
  const Benchmark* benchmark = nullptr;  ///< not owned
  double flops = kUnknownNumber;
  std::string bytes_source;
  double time_s = kUnknownNumber, time_low_s = kUnknownNumber, time_high_s = kUnknownNumber;
  std::string level;
  double bytes = kUnknownNumber, intensity = kUnknownNumber;
  double achieved_flops_per_s = kUnknownNumber, achieved_bytes_per_s = kUnknownNumber;
  std::string roof;
  double roof_flops_per_s = kUnknownNumber, ridge_intensity = kUnknownNumber;
  std::string bound_by;
  double t_lower_s = kUnknownNumber, t_upper_s = kUnknownNumber;
  double t_all_s = kUnknownNumber;    ///< all bounds one after another: T_upper of the whole kernel
  double t_math_s = kUnknownNumber;   ///< FLOP at the compute roof
  double t_level_s = kUnknownNumber;  ///< this level's bytes at its roof
  double fraction_of_roof = kUnknownNumber;
  double times_its_ceiling = 0;  ///< above 1 if it is faster than the ceiling allows, for certain
  double theory_roof_flops_per_s = kUnknownNumber, advertised_roof_flops_per_s = kUnknownNumber;
  std::string peer;
  double peer_ratio = kUnknownNumber;
  std::string verdict;
  std::string missing;   ///< of no-roof: which ceiling is unknown, in words
  std::string stand_in;  ///< of a compute roof that is another unit's than the row's, in words
};

/// Whether it took less than `seconds` beyond its own interval, what the clock is worth and, a
/// ratio of 1 or more, what the roof behind the seconds is.
bool is_beyond(const Point& point, double seconds, double uncertainty = 1);

/// Where its time sits between the bounds of the whole kernel, model.hpp's place(): "83 %", how far
/// they overlap, or "lost 12 %", the share of the time that lies beyond all of them one after
/// another. "-" where a bound is unknown or the time is not to be believed.
std::string overlap_words(const Point& point);

}  // namespace roofline
