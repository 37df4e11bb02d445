#include "roofline/results/quiet.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "roofline/base/statistics.hpp"

namespace roofline {
namespace {

/// NaN of an empty set; what is not known does not count.
double tenths(std::vector<double> values, std::size_t count) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kUnknownNumber;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * count / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
double upper_decile(std::vector<double> values) { return tenths(std::move(values), 9); }
double lower_decile(std::vector<double> values) { return tenths(std::move(values), 1); }

bool alike(double a, double b, double share) { return std::fabs(a - b) < share * std::fmax(a, b); }

bool as_far(const Surroundings& a, const Surroundings& b) {
  return alike(a.handover_s, b.handover_s, 1 - 1 / kQuietHandover);
}
/// Of memory, which tells enough by itself where both do not know how far their cores are.
bool as_far_or_unknown(const Surroundings& a, const Surroundings& b) {
  return as_far(a, b) || (std::isnan(a.handover_s) && std::isnan(b.handover_s));
}

/// Of one that tells of its memory, with the same of it; of cores as far from each other.
bool same_moment(const Surroundings& a, const Surroundings& b) {
  if (std::isnan(a.memory_bytes_per_s)) return as_far(a, b);
  return alike(a.memory_bytes_per_s, b.memory_bytes_per_s, kSameMemory) && as_far_or_unknown(a, b);
}

/// Whether two quiet ones are: memory is quiet in either placement of the cores.
bool comparable(const Surroundings& a, const Surroundings& b) {
  const bool of_memory = !std::isnan(a.memory_bytes_per_s) || !std::isnan(b.memory_bytes_per_s);
  return !of_memory || as_far_or_unknown(a, b);
}

bool below(double value, double share, double reference) { return value < share * reference; }

}  // namespace

void set_disturbed_apart(std::vector<Benchmark>& rows, double issue_per_cycle) {
  std::vector<double> issues, dispatches;
  std::map<int, std::vector<double>> handovers;
  for (const Benchmark& row : rows) {
    for (const Surroundings& beside : row.beside) {
      issues.push_back(beside.issue_per_cycle);
      dispatches.push_back(beside.dispatch_per_cycle);
      handovers[row.threads].push_back(beside.handover_s);
    }
  }
  const double issue = std::fmax(upper_decile(issues), issue_per_cycle);
  const double dispatch = upper_decile(dispatches);
  std::map<int, double> handover;
  for (const auto& [threads, values] : handovers) handover[threads] = lower_decile(values);
  const auto far = [&](const Benchmark& row, const Surroundings& beside) {
    return beside.handover_s > kQuietHandover * handover[row.threads];
  };
  std::map<std::pair<int, bool>, std::vector<double>> memories;
  for (const Benchmark& row : rows)
    for (const Surroundings& beside : row.beside)
      memories[{row.threads, far(row, beside)}].push_back(beside.memory_bytes_per_s);
  std::map<std::pair<int, bool>, double> memory;
  for (const auto& [of, values] : memories) memory[of] = upper_decile(values);

  for (Benchmark& row : rows) {
    std::vector<double> clocks;
    for (const Surroundings& beside : row.beside) clocks.push_back(beside.clock_hz);
    const double clock = upper_decile(clocks);
    const bool long_call =
        median(row.lived_times_s) >= kHandoversOfAShortCall * handover[row.threads];
    std::ptrdiff_t farther = 0;  // samples with cores far from each other, less those near
    row.quiet_at.assign(row.beside.size(), false);
    row.own_cores_at = row.quiet_at;
    for (std::size_t i = 0; i < row.beside.size(); ++i) {
      const Surroundings& beside = row.beside[i];
      if (!row.gated()) {
        row.own_cores_at[i] = row.quiet_at[i] = true;
        continue;
      }
      if (beside.cpu_wait > kQuietWait || below(beside.issue_per_cycle, kQuietIssue, issue) ||
          below(beside.dispatch_per_cycle, quiet_dispatch(row.threads), dispatch) ||
          below(beside.clock_hz, kQuietClock, clock)) {
        continue;
      }
      row.own_cores_at[i] = true;
      const bool is_far = far(row, beside);
      if (std::isnan(beside.memory_bytes_per_s)
              ? is_far && !long_call
              : below(beside.memory_bytes_per_s, kQuietMemory, memory[{row.threads, is_far}])) {
        continue;
      }
      row.quiet_at[i] = true;
      farther += is_far ? 1 : -1;
    }
    std::vector<double> quiet, quiet_clocks;
    for (std::size_t i = 0; i < row.beside.size(); ++i) {
      const Surroundings& beside = row.beside[i];
      if (!std::isnan(beside.memory_bytes_per_s) && far(row, beside) != (farther > 0))
        row.quiet_at[i] = false;
      if (!row.quiet_at[i]) continue;
      quiet.push_back(row.lived_times_s[i]);
      if (!std::isnan(beside.clock_hz)) quiet_clocks.push_back(beside.clock_hz);
    }
    row.quiet_samples = quiet.size();
    const bool enough = quiet.size() >= std::min(kFewestQuiet, row.lived_times_s.size());
    row.times_s = enough ? std::move(quiet) : row.lived_times_s;
    row.clock_hz = enough ? median(std::move(quiet_clocks)) : row.lived_clock_hz;
  }
}

bool wants_samples(const Benchmark& row) {
  return row.few_quiet() || disagreement(row.times_s) > kDisagreement;
}

double clock_fall(const Benchmark& row, bool quiet_only) {
  double low = kUnknownNumber, high = kUnknownNumber;
  for (std::size_t i = 0; i < row.beside.size(); ++i) {
    if (quiet_only && i < row.quiet_at.size() && !row.quiet_at[i]) continue;
    low = std::fmin(low, row.beside[i].clock_hz);
    high = std::fmax(high, row.beside[i].clock_hz);
  }
  return 1 - low / high;
}

std::vector<double> paired_ratios(const Benchmark& row, const Benchmark& other) {
  if (!row.gated() || !other.gated()) return {median(other.times_s) / median(row.times_s)};
  const auto lived = lived_ratios(row, other);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < lived.size(); ++i) {
    const Surroundings &beside = row.beside[i], &beside_other = other.beside[i];
    const bool quiet = row.quiet_at[i] && other.quiet_at[i];
    const bool own_cores = row.own_cores_at[i] && other.own_cores_at[i];
    if ((quiet && comparable(beside, beside_other)) ||
        (own_cores && same_moment(beside, beside_other)))
      ratios.push_back(lived[i]);
  }
  if (ratios.size() < std::min(kFewestQuiet, lived.size())) ratios.clear();
  return ratios;
}

std::vector<double> lived_ratios(const Benchmark& row, const Benchmark& other) {
  std::vector<double> ratios(std::min(row.lived_times_s.size(), other.lived_times_s.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    ratios[i] = other.lived_times_s[i] / row.lived_times_s[i];
  }
  return ratios;
}

double paired_ratio(const Benchmark& row, const Benchmark& other) {
  return median(paired_ratios(row, other));
}

}  // namespace roofline
