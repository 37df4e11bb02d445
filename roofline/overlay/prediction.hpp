// Programs that were measured, such as a decode step, beside what the ceilings predict for them:
// the rows of prediction.csv.
#pragma once

#include <string>
#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/overlay/point.hpp"

namespace roofline {

/// A step within this share above T_lower is near its prediction, however narrow the bounds are.
inline constexpr double kNearPrediction = 0.15;

/// A program or one of its parts; see kPredictionColumns.
struct Predicted {
  const Point* point = nullptr;  ///< the main memory's; of a part that moves none, any. Not owned
  std::string part;              ///< empty for the program itself
  double parameter_bytes = 0, kv_bytes = 0;
  double t_parameters_s = 0, t_kv_s = 0, t_flops_s = 0;
  double t_lower_s = 0, t_upper_s = 0;
  std::string verdict;

  double overhead_s() const { return point->time_s - t_lower_s; }
  /// NaN of a part that moves and does nothing.
  double error() const { return t_lower_s > 0 ? point->time_s / t_lower_s - 1 : kUnknownNumber; }
};

/// Each program that has parts, followed by them, but for one that needs nothing of the main
/// memory. The main memory alone counts, not the caches: T_upper is the narrower for it. Where a
/// roof is unknown, so are the bounds.
std::vector<Predicted> predictions(const std::vector<Point>& points);

CsvTable prediction_table(const std::vector<Predicted>& rows, const CeilingContext& context);

/// A table for people: every step with its bounds, and where the rest of its time goes. Empty
/// without rows.
std::string prediction_summary(const std::vector<Predicted>& rows);

}  // namespace roofline
