// The machine's measured limits: from the probes' rows (fma_peak, stream, chase, launch, link) to
// ceilings.csv and sweep.csv, and back.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "roofline/benchmark.hpp"
#include "roofline/csv.hpp"
#include "roofline/machine/machine.hpp"

namespace roofline {

/// Neighbouring sizes whose medians agree within this share are flat: a plateau.
inline constexpr double kPlateauTolerance = 0.10;
/// What the observed clock is worth: chain and FMA clocks of neighbouring windows differ by up to
/// 6 % (rarely), so a result is above theory, or above its roof, only beyond this share.
inline constexpr double kClockUncertainty = 0.03;
/// Scattered samples excuse a point above its roof up to this share, not more: what scatters wider
/// is no ceiling, and the point must not be believed either.
inline constexpr double kLargestUncertainty = 0.10;

/// One row of ceilings.csv; see kCeilingsColumns.
struct Ceiling {
  std::string machine;
  std::string device;  ///< empty: of a spec chip, serves any
  std::string resource, level, operation, dtype, exec_unit;
  int threads = 1;
  std::string condition;
  double working_set_bytes = kUnknownNumber;
  double measured = kUnknownNumber, measured_low = kUnknownNumber, measured_high = kUnknownNumber;
  int samples = 0, samples_rejected = 0;
  double disagreement = kUnknownNumber, clock_fall = kUnknownNumber;  ///< not in the table
  double clock_hz = kUnknownNumber;
  double gpu_sms = kUnknownNumber, memory_clock_hz = kUnknownNumber;  ///< seen; not in the table
  double theory_at_clock = kUnknownNumber;
  double advertised = kUnknownNumber;
  std::string advertised_source;
  std::string verdict = "ok", cause;
  std::vector<std::string> probes;  ///< the benchmarks behind it

  /// resource/level or dtype/operation/exec_unit/threads:n, as roofline.csv's `roof` names it; for
  /// a spec chip chip/resource/level or dtype/exec_unit.
  std::string id() const;
  /// Measured, or advertised where nothing is measured (roofs of a spec chip).
  double value() const;
};

/// One row of sweep.csv; see kSweepColumns.
struct SweepPoint {
  std::string device, resource, level, operation, variant, dtype, exec_unit, condition;
  int threads = 1;
  std::string probe;         ///< the benchmark's name
  bool level_named = false;  ///< by the probe itself, not by its size; not in the table
  double size_bytes = kUnknownNumber, working_set_bytes = kUnknownNumber;
  double measured = kUnknownNumber, measured_low = kUnknownNumber, measured_high = kUnknownNumber;
  int samples = 0, samples_rejected = 0;
  double relative_mad = kUnknownNumber, clock_hz = kUnknownNumber;
  double disagreement = kUnknownNumber, clock_fall = kUnknownNumber;  ///< not in the table
  bool plateau = false;
};

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

/// Tensor cores, AMX and the like: what no vector code issues to.
bool is_matrix_unit(std::string_view exec_unit);

/// The level that a working set of `size_bytes` per thread on `threads` threads measures: L1 up to
/// 3/4 of a thread's share; every further cache from 2x the one before up to 3/4 of its share;
/// DRAM from 4x the last caches' total. Empty between two levels, or if the caches are unknown.
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

/// Kernels run on random data, warmed up and not for long: a row on zeros, of a rested chip (burst)
/// or after seconds of load (sustained) says what those are worth and is no roof.
bool is_roof(const Ceiling& row);

/// Whether `row` is to be a roof rather than `other`, which is one for the same work: the higher
/// one, but where only one of them is flat and below its own theory.
bool is_better_roof(const Ceiling& row, const Ceiling& other);

/// The same ceiling at other moments: quiet or as-lived. Null if there is none.
const Ceiling* under(std::span<const Ceiling> rows, const Ceiling& row, std::string_view moments);
/// A row beside another one that stands for the ceiling: as-lived beside quiet, no roof beside one.
bool hidden(std::span<const Ceiling> rows, const Ceiling& row);

/// Adds a verdict and its cause to a row.
void flag(Ceiling& row, std::string_view verdict, std::string cause);

CsvTable ceilings_table(const std::vector<Ceiling>& rows);
CsvTable sweep_table(const std::vector<SweepPoint>& rows, const CeilingContext& context);
/// Throws BadInput naming file, line and column; also of two machines' rows, or of figures that do
/// not lie in their own interval.
std::vector<Ceiling> read_ceilings(const std::filesystem::path& path);

/// Order of levels from the core outwards, for sorting; unknown ones come last.
int level_rank(std::string_view level);

}  // namespace roofline
