#include "roofline/overlay/beside.hpp"

#include <algorithm>
#include <cmath>

#include "roofline/base/statistics.hpp"
#include "roofline/overlay/roof_choice.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

bool has_own_memory(const Benchmark& row) {
  return std::any_of(row.beside.begin(), row.beside.end(), [](const Surroundings& beside) {
    return !std::isnan(beside.own_memory_bytes_per_s);
  });
}

/// By the bytes that the memory would have brought in a sample's time, as `reader` has seen it.
Rate memory_of(const Benchmark& row, const Benchmark& reader) {
  std::vector<double> bytes;
  for (std::size_t i = 0; i < std::min(reader.beside.size(), row.lived_times_s.size()); ++i) {
    const bool counts = !row.quiet() || i >= row.quiet_at.size() || row.quiet_at[i];
    const double could = row.lived_times_s[i] * reader.beside[i].own_memory_bytes_per_s;
    if (counts && !std::isnan(could)) bytes.push_back(could);
  }
  if (bytes.empty()) return {};
  const double middle = median(bytes);
  const auto interval = median_interval(bytes);
  const double most = interval ? interval->second : *std::max_element(bytes.begin(), bytes.end());
  return {middle / median(row.times_s), most / middle};
}

}  // namespace

Rate rate_of(const Ceiling* roof) {
  if (!roof) return {};
  const double high = std::isnan(roof->measured_high) ? roof->value() : roof->measured_high;
  return {roof->value(), high / roof->value()};
}

std::map<std::string, Neighbours> neighbours_of(const std::vector<Benchmark>& rows) {
  std::map<std::string, Neighbours> out;
  for (const Benchmark& row : rows) {
    Neighbours& here = out[row.source];
    if (!row.roof_of.empty()) here.probes.push_back(&row);
    if (!here.own_memory && row.part.empty() && has_own_memory(row)) here.own_memory = &row;
  }
  return out;
}

Beside::Beside(const Benchmark& row, const Neighbours& here) : row_(&row), probes_(here.probes) {
  memory_ = memory_of(row, row);
  // A library's kernel reads copies of what ours read.
  if (std::isnan(memory_.value) && here.own_memory) memory_ = memory_of(row, *here.own_memory);
  if (std::isnan(memory_.value))
    memory_ = rate(&Benchmark::bytes, [](const Benchmark& probe) { return probe.bytes > 0; });
}

Rate Beside::compute(const Ceiling* roof) const {
  if (!roof || is_of_spec(*roof)) return {};
  return rate(&Benchmark::flops, [&](const Benchmark& probe) {
    return probe.flops > 0 && probe.roof_dtype == roof->dtype && probe.exec_unit == roof->exec_unit;
  });
}

Rate Beside::rate(double Benchmark::*work,
                  const std::function<bool(const Benchmark&)>& serves) const {
  Rate best;
  for (const Benchmark* probe : probes_) {
    if (!serves(*probe)) continue;
    const auto ratios = ratios_to(*probe);
    if (ratios.empty()) continue;
    const double ratio = median(ratios);
    const double speed = probe->*work / (ratio * median(row_->times_s));
    if (speed <= best.value) continue;
    const auto interval = median_interval(ratios);
    const double least =
        interval ? interval->first : *std::min_element(ratios.begin(), ratios.end());
    best = {speed, ratio / least};
  }
  return best;
}

std::vector<double> Beside::ratios_to(const Benchmark& probe) const {
  auto ratios = paired_ratios(*row_, probe);
  if (ratios.empty() && !row_->quiet()) ratios = lived_ratios(*row_, probe);
  return ratios;
}

}  // namespace roofline
