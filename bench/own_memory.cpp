#include "bench/own_memory.hpp"

#include <algorithm>

namespace bench {
namespace {

/// Of an even number the lower one in the middle.
double median(std::vector<double> values) {
  const auto middle = values.begin() + (values.end() - values.begin() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double OwnMemory::rate(kernels::Problem& problem, std::int64_t next_call,
                       const std::function<double()>& now) {
  double best = kernels::kUnknown, best_median = 0;
  for (std::size_t loop = 0;; ++loop) {
    const double start = now();
    const double bytes = problem.read_own_memory(static_cast<int>(loop), next_call);
    const double time = now() - start;
    if (bytes == 0) return best;
    if (loop == rates_.size()) rates_.emplace_back();
    rates_[loop].push_back(bytes / time);
    const double middle = median(rates_[loop]);
    if (middle <= best_median) continue;
    best_median = middle;
    best = rates_[loop].back();
  }
}

}  // namespace bench
