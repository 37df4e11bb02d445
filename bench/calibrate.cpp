#include "bench/calibrate.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr double kCalibrating = 5e-3;  ///< seconds spent on a count of calls, at least one try
/// A try longer than that, and shorter than kLongCall, may be one whose core was taken away or
/// whose threads were woken: it is repeated once.
constexpr double kLongCall = 50e-3;

/// The fastest of several, so that a preempted run does not end the calibration early. `enough`
/// ends it: whether it is faster still does not matter.
double seconds(kernels::Problem& problem, std::int64_t count, double enough,
               const std::function<double()>& now) {
  constexpr int kTries = 20;
  double best = 1e9, all = 0;
  for (int i = 0; i < kTries && best > enough; ++i) {
    if (all >= kCalibrating && (i > 1 || all >= kLongCall)) break;
    const double start = now();
    problem.run(0, count);
    const double time = now() - start;
    best = std::min(best, time);
    all += time;
  }
  return best;
}

}  // namespace

/// Four times as many must take more than twice as long: else it was a bad moment that was timed.
std::int64_t calibrate(kernels::Problem& problem, const std::function<double()>& now) {
  constexpr double kLongEnough = 200e-6;
  std::int64_t batch = 1;
  for (; batch < std::int64_t{1} << 24; batch *= 2) {
    const double time = seconds(problem, batch, kLongEnough, now);
    if (time < kLongEnough) continue;
    if (time > kCalibrating || seconds(problem, 4 * batch, 2 * time, now) > 2 * time) break;
  }
  return batch;
}

}  // namespace bench
