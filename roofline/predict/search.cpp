// The inverse questions of serve.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/error.hpp"
#include "roofline/predict/serve.hpp"

namespace roofline::predict {
namespace {

/// Batches that fit, from 1 on; 0 if none does.
std::int64_t largest_batch(const Serving& serving) {
  constexpr double kMost = 1e15;  // whole in a double, and in an int64
  return static_cast<std::int64_t>(std::min(predict(serving).max_batch, kMost));
}

/// The first batch in [1, most] of which `holds` is true, given that it is of all larger ones;
/// most + 1 if there is none.
std::int64_t first_batch(std::int64_t most, const auto& holds) {
  std::int64_t low = 1, high = most + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

ServePrediction with_batch(Serving serving, std::int64_t batch) {
  serving.batch = batch;
  return predict(serving);
}

/// Slower than the limit, which NaN is none of, or than predicted because of the links.
bool beyond(const ServePrediction& p, double latency_limit_s) {
  return p.t_step_s > latency_limit_s || p.link_bound == true;
}

void check(const Serving& base, std::int64_t most_chips) {
  if (most_chips > 1000000000) throw BadInput("no search goes beyond 1e9 chips");
  if (std::isnan(base.memory_bytes)) {
    throw BadInput("the memory of a chip is not known, so neither is what fits (give --memory)");
  }
}

/// Equal but for rounding. Throughput per chip of different slices is the same formula.
constexpr double kEqual = 1e-9;

}  // namespace

std::vector<Serving> slices(const Serving& base, double tokens_per_s, double latency_limit_s,
                            std::int64_t most_chips) {
  check(base, most_chips);
  std::vector<Serving> out;
  Serving at = base;
  for (at.chips = 1; at.chips <= most_chips; at.chips *= 2) {
    at.batch = 1;
    const std::int64_t most = largest_batch(at);
    // The step grows with the batch, as what crosses the links does, and throughput does until
    // arithmetic bounds the MLP; from there on a larger batch only waits longer.
    const std::int64_t within =
        first_batch(most,
                    [&](std::int64_t b) { return beyond(with_batch(at, b), latency_limit_s); }) -
        1;
    const auto enough = [&](std::int64_t b) {
      return with_batch(at, b).tokens_per_s >= tokens_per_s;
    };
    const double useful = std::ceil(predict(at).critical_batch);
    at.batch = std::isnan(tokens_per_s)
                   ? static_cast<std::int64_t>(std::min(static_cast<double>(within), useful))
                   : first_batch(most, enough);
    if (at.batch >= 1 && at.batch <= within) out.push_back(at);
  }
  return out;
}

std::optional<Serving> best_of(const std::vector<Serving>& slices) {
  std::optional<Serving> best;
  double best_rate = 0;
  for (const Serving& slice : slices) {
    const double rate = predict(slice).tokens_per_s_per_chip;
    if (best && rate <= best_rate * (1 + kEqual)) continue;
    best = slice;
    best_rate = rate;
  }
  return best;
}

}  // namespace roofline::predict
