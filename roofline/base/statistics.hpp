// Robust statistics of timed samples.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace roofline {

/// NaN without samples.
double median(std::vector<double> samples);

/// Distribution-free interval of the median: the k-th smallest and the k-th largest sample with
/// the largest k for which 1 - 2 P(Binomial(n, 1/2) <= k - 1) >= 0.95 (Conover, Practical
/// Nonparametric Statistics, 3.2). Empty below 6 samples, as 1 - 2/2^n >= 0.95 from there on.
std::optional<std::pair<double, double>> median_interval(std::vector<double> samples);

/// Median absolute deviation from the median, divided by the median; no scaling to a normal
/// distribution's sigma. NaN without samples.
double relative_mad(const std::vector<double>& samples);

/// How far samples lie off their median, as a share of it: relative_mad() or, if that is more, half
/// of what the middle third of them spans. Where about half of the samples tell one thing and half
/// another, most lie near their median all the same. NaN without samples.
double disagreement(const std::vector<double>& samples);

}  // namespace roofline
