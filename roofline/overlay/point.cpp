#include "roofline/overlay/point.hpp"

#include <fmt/format.h>

#include <cmath>

#include "roofline/base/schema.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/ceilings/ceiling.hpp"
#include "roofline/model.hpp"

namespace roofline {

bool is_beyond(const Point& point, double seconds, double uncertainty) {
  const double slowest = std::isnan(point.time_high_s) ? point.time_s : point.time_high_s;
  return slowest * (1 + kClockUncertainty) < seconds / uncertainty ||
         point.time_s * (1 + kLargestUncertainty) < seconds;
}

std::string overlap_words(const Point& point) {
  const bool known = point.t_lower_s > 0 && point.t_all_s > point.t_lower_s;
  if (!known || is_refused(point.verdict)) return "-";
  const Placement at = place(point.time_s, point.t_lower_s, point.t_all_s, kClockUncertainty);
  if (at.place == Place::kLost) return "lost " + percent(at.lost_s / point.time_s);
  return percent(at.overlap.value_or(1));
}

}  // namespace roofline
