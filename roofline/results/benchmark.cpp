#include "roofline/results/benchmark.hpp"

#include <algorithm>

namespace roofline {

std::string Benchmark::key(std::string_view wanted) const {
  for (const auto& [key, value] : keys) {
    if (key == wanted) return value;
  }
  return {};
}

bool Benchmark::gated() const {
  return std::any_of(beside.begin(), beside.end(),
                     [](const Surroundings& at) { return !std::isnan(at.issue_per_cycle); });
}

bool is_probe(const Benchmark& row) {
  constexpr std::string_view kProbes[] = {"fma_peak", "stream", "pages", "chase", "launch", "link"};
  return !row.variant.empty() &&
         std::find(std::begin(kProbes), std::end(kProbes), row.kernel) != std::end(kProbes);
}

}  // namespace roofline
