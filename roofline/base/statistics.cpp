#include "roofline/base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace roofline {

double median(std::vector<double> samples) {
  if (samples.empty()) return std::nan("");
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  return n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

std::optional<std::pair<double, double>> median_interval(std::vector<double> samples) {
  const std::size_t n = samples.size();
  // Terms of the binomial by logarithms: 2^-n would underflow for a thousand samples.
  double tail = 0;  // P(Binomial(n, 1/2) <= k - 1) for the k under trial
  std::size_t best = 0;
  for (std::size_t k = 1; k <= n / 2; ++k) {
    const double successes = static_cast<double>(k - 1), trials = static_cast<double>(n);
    tail += std::exp(std::lgamma(trials + 1) - std::lgamma(successes + 1) -
                     std::lgamma(trials - successes + 1) - trials * std::log(2.0));
    if (1 - 2 * tail < 0.95) break;
    best = k;
  }
  if (best == 0) return std::nullopt;
  std::sort(samples.begin(), samples.end());
  return std::pair{samples[best - 1], samples[n - best]};
}

double relative_mad(const std::vector<double>& samples) {
  const double middle = median(samples);
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - middle));
  return median(std::move(deviations)) / middle;
}

double disagreement(const std::vector<double>& samples) {
  if (samples.empty()) return std::nan("");
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size(), low = std::min((n + 2) / 3, (n - 1) / 2);
  const double third = sorted[n - 1 - low] - sorted[low];
  return std::max(relative_mad(samples), third / 2 / median(samples));
}

}  // namespace roofline
