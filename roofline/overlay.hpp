// Benchmarks laid over ceilings: the rows of roofline.csv.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "roofline/benchmark.hpp"
#include "roofline/ceilings.hpp"
#include "roofline/csv.hpp"

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

/// One point per benchmark and memory level that its bytes cross; `rows` must outlive the points.
/// Probes are left out: they are the ceilings. Formulas: model.hpp.
///
/// The compute roof C is the ceilings row of the same device, roof_dtype, exec_unit and (on a CPU)
/// threads that is_roof(); where the row's unit is unknown or has no such ceiling, the best unit of
/// that dtype, for a vector unit the best of those if there is one.
/// The bandwidth roof W of a level is its fastest `read` row with the same threads (of those that
/// is_better_roof()). A ceiling that
/// is known only as advertised (a spec chip) serves in place of a measured one.
///
/// Where a probe of the main memory or of the peak was measured beside the row
/// (Benchmark::roof_of), in the same file, its rate in the pairs of samples that are quiet on both
/// sides stands in for the ceiling. Before it comes the rate at which the row's own memory was read
/// beside its samples.
///
/// The parts of a program run one after another: its t_lower_s and t_upper_s are the sums of
/// theirs.
std::vector<Point> overlay(const std::vector<Benchmark>& rows,
                           const std::vector<Ceiling>& ceilings);

/// The same benchmarks by what hardware counters saw of them, as far as they were counted; their
/// FLOPs are the model's where no counter has them.
std::vector<Point> counted_overlay(const std::vector<Benchmark>& rows,
                                   const std::vector<Ceiling>& ceilings);

CsvTable roofline_table(const std::vector<Point>& points, const CeilingContext& context);
/// The counted points follow the others.
CsvTable roofline_table(std::vector<Point> points, const std::vector<Point>& counted,
                        const CeilingContext& context);

}  // namespace roofline
