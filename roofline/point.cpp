#include "roofline/point.hpp"

#include <cmath>

#include "roofline/ceiling.hpp"

namespace roofline {

bool is_beyond(const Point& point, double seconds, double uncertainty) {
  const double slowest = std::isnan(point.time_high_s) ? point.time_s : point.time_high_s;
  return slowest * (1 + kClockUncertainty) < seconds / uncertainty ||
         point.time_s * (1 + kLargestUncertainty) < seconds;
}

}  // namespace roofline
