// A measured limit of the machine, and the points of the sweep that it was read from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// What the observed clock is worth: chain and FMA clocks of neighbouring windows differ by up to
/// 6 % (rarely), so a result is above theory, or above its roof, only beyond this share.
inline constexpr double kClockUncertainty = 0.03;
/// Scattered samples excuse a point above its roof up to this share, not more: what scatters wider
/// is no ceiling, and the point must not be believed either.
inline constexpr double kLargestUncertainty = 0.10;

/// What a probe found of a limit.
struct Probed {
  std::string device;  ///< empty: of a spec chip, serves any
  std::string resource, level, operation, dtype, exec_unit;
  int threads = 1;
  std::string condition;
  double working_set_bytes = kUnknownNumber;
  double measured = kUnknownNumber, measured_low = kUnknownNumber, measured_high = kUnknownNumber;
  int samples = 0, samples_rejected = 0;
  double disagreement = kUnknownNumber, clock_fall = kUnknownNumber;  ///< in no table
  double clock_hz = kUnknownNumber;
};

/// One row of ceilings.csv; see kCeilingsColumns.
struct Ceiling : Probed {
  std::string machine;
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
struct SweepPoint : Probed {
  std::string variant;
  std::string probe;         ///< the benchmark's name
  bool level_named = false;  ///< by the probe itself, not by its size; not in the table
  double size_bytes = kUnknownNumber;
  double relative_mad = kUnknownNumber;
  bool plateau = false;
};

/// Tensor cores, AMX and the like: what no vector code issues to.
bool is_matrix_unit(std::string_view exec_unit);

/// Of a measured value, larger is better whatever the resource: a latency counts by its inverse.
double rank(const std::string& resource, double value);

/// Order of levels from the core outwards, for sorting; unknown ones come last.
int level_rank(std::string_view level);
/// DRAM, or a GPU's HBM.
bool is_main_memory(std::string_view level);

/// Reads of whole pages at random, which say what a paged cache gets of a level: no roof.
bool is_of_pages(const Ceiling& row);

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
/// Whether kernels are held against `row`: is_roof(), and not hidden().
bool limits(std::span<const Ceiling> rows, const Ceiling& row);

/// The most threads that rates of a device were measured on; 0 without any.
int most_threads(std::span<const Ceiling> rows, std::string_view device);

/// Seconds that one launch on the device takes: in a stream, or in a graph where that is all that
/// is known; 0 where none was measured.
double launch_time(std::span<const Ceiling> rows, std::string_view device);

/// Adds a verdict and its cause to a row.
void flag(Ceiling& row, std::string_view verdict, std::string cause);

}  // namespace roofline
