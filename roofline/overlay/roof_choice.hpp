// Which ceiling limits a benchmark.
#pragma once

#include <string_view>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Those that stand for a limit: what was measured in quiet moments, where there is such a one.
std::vector<Ceiling> roofs_of(const std::vector<Ceiling>& ceilings);

/// A spec chip's: nothing measured stands in for it.
bool is_of_spec(const Ceiling& ceiling);

/// The peak of the row's unit, else of one that stands in for it; null if there is none.
const Ceiling* compute_roof(const Benchmark& row, const std::vector<Ceiling>& ceilings);

/// The best reads of a level; null if there are none.
const Ceiling* bandwidth_roof(const Benchmark& row, std::string_view level,
                              const std::vector<Ceiling>& ceilings);

/// Launch or start-up time of a call: benchmarks are launched one by one on a stream, so at the
/// rate of that, or else at the best one seen; 0 where none is known, as on a CPU, and for a part
/// of a program, whose share of the program's launches nobody tells.
double launch_time(const Benchmark& row, const std::vector<Ceiling>& ceilings);

}  // namespace roofline
