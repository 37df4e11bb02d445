// The machine's measured limits, from the probes' rows (fma_peak, stream, pages, chase, launch,
// link).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/machine/machine.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Neighbouring sizes whose medians agree within this share are flat: a plateau.
inline constexpr double kPlateauTolerance = 0.10;
struct Advertised {
  double value = kUnknownNumber;
  std::string source;
};

/// What must be known of the machine besides its timings.
struct CeilingContext {
  std::string machine;
  std::string gpu;  ///< the GPU's name; empty if it is not known, and then its rows bear `machine`
  std::vector<machine::Cache> caches;  ///< of the CPU

  const std::string& machine_of(std::string_view device) const {
    return device == "gpu" && !gpu.empty() ? gpu : machine;
  }
  /// Theory at the ceiling's clock_hz and threads; NaN where no table tells. May be empty.
  std::function<double(const Ceiling&)> theory;
  /// Independent multiplies that a core issues per cycle; NaN where no table tells.
  double issue_per_cycle = kUnknownNumber;
  /// What is advertised for this resource. May be empty.
  std::function<Advertised(const Ceiling&)> advertised;
};

struct Ceilings {
  std::vector<Ceiling> rows;
  std::vector<SweepPoint> sweep;
};

/// The level that a working set of `size_bytes` per thread on `threads` threads measures: L1 up to
/// 3/4 of a thread's share; every further cache from 2x the one before up to 3/4 of its share;
/// DRAM from 4x the last caches' total; if no caches are known, DRAM from 256 MB. Otherwise empty.
std::string level_of_size(double size_bytes, int threads, std::span<const machine::Cache> caches);

/// Takes the plateau of every size sweep: of the runs of two or more neighbouring sizes within a
/// level whose medians agree within kPlateauTolerance, the fastest; its best size is the ceiling.
/// Without such a run the best size is given with the verdict no-plateau; a latency, or a probe
/// that names its level, that has one size in a level is taken as it is. Several variants with the
/// same execution unit, and several attempts at one ceiling: the best one counts.
///
/// A CPU's ceiling comes twice: condition `quiet` from the samples that the quiet gate lets pass
/// (set_disturbed_apart(); left out if there are too few), and `as-lived` from all of them. The
/// sweep holds the samples that count.
Ceilings ceilings_from(const std::vector<Benchmark>& rows, const CeilingContext& context);

}  // namespace roofline
