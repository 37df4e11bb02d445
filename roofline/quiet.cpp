#include "roofline/quiet.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace roofline {
namespace {

/// NaN of an empty set; what is not known does not count.
double upper_decile(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kUnknownNumber;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * 9 / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

bool below(double value, double share, double reference) { return value < share * reference; }

double acceptance(const Benchmark& row) {
  return static_cast<double>(row.quiet_samples) / static_cast<double>(row.lived_times_s.size());
}

}  // namespace

void set_disturbed_apart(std::vector<Benchmark>& rows, double issue_per_cycle) {
  std::vector<double> issues;
  std::map<int, std::vector<double>> memories;
  for (const Benchmark& row : rows) {
    for (const Surroundings& beside : row.beside) {
      issues.push_back(beside.issue_per_cycle);
      memories[row.threads].push_back(beside.memory_bytes_per_s);
    }
  }
  const double issue = std::fmax(upper_decile(issues), issue_per_cycle);
  std::map<int, double> memory;
  for (const auto& [threads, values] : memories) memory[threads] = upper_decile(values);

  for (Benchmark& row : rows) {
    std::vector<double> clocks;
    for (const Surroundings& beside : row.beside) clocks.push_back(beside.clock_hz);
    const double clock = upper_decile(clocks);
    std::vector<double> quiet;
    for (std::size_t i = 0; i < row.beside.size(); ++i) {
      const Surroundings& beside = row.beside[i];
      if (beside.cpu_wait > kQuietWait || below(beside.issue_per_cycle, kQuietIssue, issue) ||
          below(beside.clock_hz, kQuietClock, clock) ||
          below(beside.memory_bytes_per_s, kQuietMemory, memory[row.threads])) {
        continue;
      }
      quiet.push_back(row.lived_times_s[i]);
    }
    row.quiet_samples = quiet.size();
    const bool enough = quiet.size() >= std::min(kFewestQuiet, row.lived_times_s.size());
    row.times_s = enough ? std::move(quiet) : row.lived_times_s;
  }
}

bool same_windows(const Benchmark& a, const Benchmark& b) {
  if (!a.gated() || !b.gated()) return true;
  const double one =
      1.0 / static_cast<double>(std::min(a.lived_times_s.size(), b.lived_times_s.size()));
  constexpr double kRounding = 1e-9;
  return std::abs(acceptance(a) - acceptance(b)) <= std::max(0.10, one) + kRounding;
}

}  // namespace roofline
