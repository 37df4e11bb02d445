#include "roofline/compare/difference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "roofline/base/statistics.hpp"

namespace roofline::compare {
namespace {

/// Fewer quantities do not tell what runs have in common: one that differs would be a third of it.
constexpr std::size_t kEnoughForCommon = 5;
/// Fewer do not tell how far they scatter.
constexpr std::size_t kEnoughForSpread = 8;
/// Scale of Student's t with 3 degrees of freedom: its median absolute value is 0.7649.
constexpr double kT3MedianAbs = 0.7649;
constexpr double kT3Quantile = 3.1824;  ///< of 0.975
/// Of the chance of a false alarm, what is spent on the whole; the rest is for single quantities.
constexpr double kShareOfWhole = 0.2;
/// Below this p value what all have in common is taken for more than chance.
constexpr double kWholeInDoubt = 0.05;
/// Two copies of one folder do not prove that runs agree: no run resolves less.
constexpr double kLeastSpread = 1e-3;

/// P(U <= u) for u = 0, 1, … without ties: coefficients of the Gaussian binomial.
std::vector<double> mann_whitney_distribution(std::size_t n, std::size_t m) {
  std::vector<double> counts(n * m + 1, 0);
  counts[0] = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    const std::size_t up = m + i;
    for (std::size_t u = counts.size(); u-- > up;) counts[u] -= counts[u - up];
    for (std::size_t u = i; u < counts.size(); ++u) counts[u] += counts[u - i];
  }
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double sum = 0;
  for (double& count : counts) {
    sum += count;
    count = sum / all;
  }
  return counts;
}

/// The smallest p value that so many runs can give.
double least_p(std::size_t n, std::size_t m) { return 2 * mann_whitney_distribution(n, m)[0]; }

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Hodges and Lehmann's shift of b against a, and its 95 % interval.
Ratio shift(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> pairs;
  for (const double x : a) {
    for (const double y : b) pairs.push_back(y - x);
  }
  std::sort(pairs.begin(), pairs.end());
  const std::vector<double> below = mann_whitney_distribution(a.size(), b.size());
  std::size_t k = 0;
  while (k < below.size() && below[k] <= 0.025) ++k;
  Ratio out;
  out.value = std::exp(median(pairs));
  out.low = k == 0 ? std::nan("") : std::exp(pairs[k - 1]);
  out.high = k == 0 ? std::nan("") : std::exp(pairs[pairs.size() - k]);
  return out;
}

/// What is ranked of a quantity: for each run a value, NaN where it does not count.
struct Ranked {
  std::vector<double> a, b;
};

std::vector<double> known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values;
}

/// What each run has in common over all quantities: runs of A, then of B. Zero where too few tell.
std::vector<double> run_effects(const std::vector<Ranked>& quantities) {
  const std::size_t n = quantities.front().a.size(), all = n + quantities.front().b.size();
  std::vector<double> out(all, 0);
  std::vector<std::vector<double>> deviations(all);
  for (const Ranked& quantity : quantities) {
    const double centre = (median(known(quantity.a)) + median(known(quantity.b))) / 2;
    for (std::size_t i = 0; i < all; ++i) {
      deviations[i].push_back((i < n ? quantity.a[i] : quantity.b[i - n]) - centre);
    }
  }
  for (std::size_t i = 0; i < all; ++i) {
    const std::vector<double> told = known(deviations[i]);
    if (told.size() >= kEnoughForCommon) out[i] = median(told);
  }
  return out;
}

Ranked without(Ranked quantity, const std::vector<double>& effects) {
  const std::size_t n = quantity.a.size();
  for (std::size_t i = 0; i < n; ++i) quantity.a[i] -= effects[i];
  for (std::size_t i = 0; i < quantity.b.size(); ++i) quantity.b[i] -= effects[n + i];
  return quantity;
}

bool large(double ratio, const Limits& limits) {
  return std::abs(std::log(ratio)) >= std::log1p(limits.minimum_effect);
}

/// `whole` is the p value of what all have in common; NaN if it was not tested.
void correct(Outcome& out, const std::vector<double>& p, double whole, const Limits& limits) {
  const double share = std::isnan(whole) ? 0 : kShareOfWhole;
  const std::vector<double> corrected = limits.alike ? holm(p) : p;
  for (std::size_t i = 0; i < out.each.size(); ++i) {
    Difference& each = out.each[i];
    each.p = std::min(1.0, corrected[i] / (1 - share));
    // Where most may have moved for a reason, what stood still is no difference of its own.
    const bool moved =
        large(each.ratio.value, limits) && (each.ratio.value > 1) == (each.own.value > 1);
    each.real = each.p < limits.family_error && large(each.own.value, limits) &&
                (moved || !(whole < kWholeInDoubt));
  }
  if (std::isnan(whole)) return;
  out.whole.own = out.whole.ratio;
  out.whole.p = std::min(1.0, whole / share);
  out.whole.real = out.whole.p < limits.family_error && large(out.whole.ratio.value, limits);
}

/// The largest p value that is a difference: of `quantities` the smallest one's.
double largest_p(std::size_t quantities, const Limits& limits) {
  if (!limits.alike) return limits.family_error;
  return limits.family_error * (1 - kShareOfWhole) / static_cast<double>(quantities);
}

/// Whether so many runs can find anything among so many quantities.
bool enough(std::size_t n, std::size_t m, std::size_t quantities, const Limits& limits) {
  return least_p(n, m) < largest_p(quantities, limits);
}

Outcome by_ranks(const std::vector<Quantity>& quantities, const Limits& limits) {
  Outcome out;
  out.method = Method::kMannWhitney;
  out.spread = out.smallest = std::nan("");
  std::vector<Ranked> all;
  for (const Quantity& quantity : quantities) {
    const std::size_t n = known(quantity.best_a).size(), m = known(quantity.best_b).size();
    if (enough(n, m, quantities.size(), limits))
      all.push_back({quantity.best_a, quantity.best_b});
    else
      all.push_back({quantity.a, quantity.b});
  }
  std::vector<double> effects = run_effects(all);
  if (!limits.alike) std::fill(effects.begin(), effects.end(), 0);
  const auto split = effects.begin() + static_cast<std::ptrdiff_t>(quantities.front().a.size());
  const std::vector<double> whole_a(effects.begin(), split), whole_b(split, effects.end());
  std::vector<double> p;
  for (const Ranked& quantity : all) {
    const Ranked own = without(quantity, effects);
    const std::vector<double> a = known(own.a), b = known(own.b);
    p.push_back(mann_whitney_p(a, b));
    out.each.push_back({shift(known(quantity.a), known(quantity.b)), shift(a, b)});
  }
  double whole_p = kUnknown;
  if (limits.alike && quantities.size() >= kEnoughForCommon) {
    out.whole.ratio = shift(whole_a, whole_b);
    whole_p = mann_whitney_p(whole_a, whole_b);
  }
  correct(out, p, whole_p, limits);
  return out;
}

Ratio around(double log, double error) {
  return {std::exp(log), std::exp(log - kT3Quantile * error), std::exp(log + kT3Quantile * error)};
}

Outcome by_spread(const std::vector<Quantity>& quantities, const Limits& limits) {
  Outcome out;
  std::vector<double> logs, distances, p;
  for (const Quantity& quantity : quantities) logs.push_back(mean(quantity.b) - mean(quantity.a));
  const bool many = limits.alike && quantities.size() >= kEnoughForSpread;
  const double common = many ? median(logs) : 0;
  for (const double log : logs) distances.push_back(std::abs(log - common));
  out.method = many ? Method::kSpreadOfAll : Method::kSpreadByHost;
  out.spread = many ? std::max(kLeastSpread, median(distances) / kT3MedianAbs) : limits.host_spread;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const bool in_core = !many && quantities[i].in_core;
    const double error = std::hypot(in_core ? limits.core_spread : out.spread, quantities[i].error);
    p.push_back(t3_p((logs[i] - common) / error));
    out.each.push_back({around(logs[i], error), around(logs[i] - common, error)});
  }
  double whole_p = kUnknown;
  if (many) {
    out.whole.ratio = around(common, limits.host_whole_spread);
    whole_p = t3_p(common / limits.host_whole_spread);
  }
  correct(out, p, whole_p, limits);
  double t = 1;
  while (t3_p(t) >= largest_p(p.size(), limits)) t *= 1.01;
  const auto smallest = [&](double spread) {
    return std::min(std::exp(-t * spread), 1 / (1 + limits.minimum_effect));
  };
  out.smallest = smallest(out.spread);
  if (!many) out.smallest_in_core = smallest(limits.core_spread);
  return out;
}

}  // namespace

Outcome differences(const std::vector<Quantity>& quantities, const Limits& limits) {
  if (quantities.empty()) return {};
  const std::size_t n = quantities.front().a.size(), m = quantities.front().b.size();
  return enough(n, m, quantities.size(), limits) ? by_ranks(quantities, limits)
                                                 : by_spread(quantities, limits);
}

double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b) {
  double wins = 0;
  for (const double x : a) {
    for (const double y : b) wins += y > x ? 1 : y == x ? 0.5 : 0;
  }
  const double pairs = static_cast<double>(a.size() * b.size());
  const auto u = static_cast<std::size_t>(std::ceil(std::min(wins, pairs - wins)));
  return std::min(1.0, 2 * mann_whitney_distribution(a.size(), b.size())[u]);
}

double t3_p(double t) {
  const double x = std::abs(t) / std::numbers::sqrt3;
  // 1 - 2/pi (atan x + x / (1 + x^2)), with the two terms that cancel for a large x taken together.
  const double tail = x > 0 ? std::atan(1 / x) - x / (1 + x * x) : std::numbers::pi / 2;
  return std::clamp(2 / std::numbers::pi * tail, 0.0, 1.0);
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> out(p.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    out[order[i]] = least;
  }
  return out;
}

}  // namespace roofline::compare
