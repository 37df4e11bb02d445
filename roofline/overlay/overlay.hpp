// Benchmarks laid over ceilings.
#pragma once

#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/overlay/point.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// One point per benchmark and memory level that its bytes cross; `rows` must outlive the points.
/// Probes are left out: they are the ceilings. Formulas: model.hpp.
///
/// The compute roof C is the ceilings row of the same device, roof_dtype, exec_unit and (on a CPU)
/// threads that is_roof(); where the row's unit is unknown or has no such ceiling, the best unit of
/// that dtype, for a vector unit the best of those if there is one.
/// The bandwidth roof W of a level is its fastest `read` row with the same threads (of those that
/// is_better_roof()). A ceiling that
/// is known only as advertised (a spec chip) serves in place of a measured one.
///
/// Where a probe of the main memory or of the peak was measured beside the row
/// (Benchmark::roof_of), in the same file, its rate in the pairs of samples that are quiet on both
/// sides stands in for the ceiling. Before it comes the rate at which the row's own memory was read
/// beside its samples.
///
/// The parts of a program run one after another: its t_lower_s and t_upper_s are the sums of
/// theirs.
std::vector<Point> overlay(const std::vector<Benchmark>& rows,
                           const std::vector<Ceiling>& ceilings);

/// The same benchmarks by what hardware counters saw of them, as far as they were counted; their
/// FLOPs are the model's where no counter has them.
std::vector<Point> counted_overlay(const std::vector<Benchmark>& rows,
                                   const std::vector<Ceiling>& ceilings);

}  // namespace roofline
