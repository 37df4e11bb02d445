#include "roofline/overlay/roof_choice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace roofline {
namespace {

bool serves(const Ceiling& ceiling, const Benchmark& row, std::string_view resource) {
  if (ceiling.resource != resource || std::isnan(ceiling.value())) return false;
  if (is_of_spec(ceiling)) return true;
  return ceiling.device == row.device && (row.device == "gpu" || ceiling.threads == row.threads);
}

/// A spec chip has one main memory, whatever the rows call theirs.
bool same_level(const Ceiling& ceiling, std::string_view level) {
  return ceiling.level == level ||
         (is_of_spec(ceiling) && ceiling.level == "HBM" && level == "DRAM");
}

}  // namespace

std::vector<Ceiling> roofs_of(const std::vector<Ceiling>& ceilings) {
  std::vector<Ceiling> out;
  std::copy_if(ceilings.begin(), ceilings.end(), std::back_inserter(out),
               [&](const Ceiling& ceiling) { return !hidden(ceilings, ceiling); });
  return out;
}

bool is_of_spec(const Ceiling& ceiling) { return ceiling.device.empty(); }

const Ceiling* compute_roof(const Benchmark& row, const std::vector<Ceiling>& ceilings) {
  const Ceiling* own = nullptr;
  const Ceiling* vector = nullptr;
  const Ceiling* best = nullptr;
  const auto keep = [](const Ceiling*& kept, const Ceiling& ceiling) {
    if (!kept || is_better_roof(ceiling, *kept)) kept = &ceiling;
  };
  for (const Ceiling& ceiling : ceilings) {
    if (!serves(ceiling, row, "compute") || ceiling.dtype != row.roof_dtype) continue;
    if (!is_roof(ceiling)) continue;
    keep(best, ceiling);
    if (!is_matrix_unit(ceiling.exec_unit)) keep(vector, ceiling);
    if (ceiling.exec_unit == row.exec_unit) keep(own, ceiling);
  }
  if (own) return own;
  // What no probe issues, and is faster than what one does. A sheet's figure is its.
  if (row.exec_unit == "tcgen05" && !(best && is_of_spec(*best))) return nullptr;
  // A vector kernel is not to be held against the ridge of a unit that it does not use, where there
  // is another.
  const bool by_vectors = !row.exec_unit.empty() && !is_matrix_unit(row.exec_unit);
  return by_vectors && vector ? vector : best;
}

const Ceiling* bandwidth_roof(const Benchmark& row, std::string_view level,
                              const std::vector<Ceiling>& ceilings) {
  const Ceiling* best = nullptr;
  for (const Ceiling& ceiling : ceilings) {
    if (serves(ceiling, row, "bandwidth") && same_level(ceiling, level) &&
        ceiling.operation == "read" && (!best || is_better_roof(ceiling, *best))) {
      best = &ceiling;
    }
  }
  return best;
}

double launch_time(const Benchmark& row, const std::vector<Ceiling>& ceilings) {
  return row.part.empty() ? launch_time(ceilings, row.device) * row.launches : 0;
}

}  // namespace roofline
