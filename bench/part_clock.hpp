// Times the parts of a program within its timed calls: a look at the clock at the end of every
// stretch. A step of milliseconds has tens of them, of tens of nanoseconds each.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "kernels/op.hpp"

namespace bench {

class PartClock {
 public:
  explicit PartClock(kernels::Problem& problem)
      : problem_(problem), seconds_(problem.parts().size()) {
    if (seconds_.empty()) return;
    problem.watch([this](std::size_t part) {
      const auto now = Clock::now();
      seconds_[part] += std::chrono::duration<double>(now - last_).count();
      last_ = now;
    });
  }
  ~PartClock() { problem_.watch({}); }
  PartClock(const PartClock&) = delete;
  PartClock& operator=(const PartClock&) = delete;

  /// Before every call: what lies between two calls belongs to no part.
  void start() { last_ = Clock::now(); }
  /// Sum over the calls, by part.
  const std::vector<double>& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  kernels::Problem& problem_;
  std::vector<double> seconds_;
  Clock::time_point last_;
};

}  // namespace bench
