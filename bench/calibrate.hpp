// How many calls are timed at a time.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/op.hpp"

namespace bench {

/// Calls in a row that take about 200 us, or one, so that the timer's loop does not weigh on short
/// calls. `now`: seconds.
std::int64_t calibrate(kernels::Problem& problem, const std::function<double()>& now);

}  // namespace bench
