// Roofs as they were while a benchmark was measured.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// A roof's rate, and how many times as high it may be: the upper end of its interval over it.
struct Rate {
  double value = kUnknownNumber, uncertainty = 1;
};

/// Unknown without a roof.
Rate rate_of(const Ceiling* roof);

/// What was measured beside the benchmarks of a file.
struct Neighbours {
  std::vector<const Benchmark*> probes;
  const Benchmark* own_memory = nullptr;  ///< the first kernel whose program has read its memory
};

/// Of each file.
std::map<std::string, Neighbours> neighbours_of(const std::vector<Benchmark>& rows);

/// The roofs of one benchmark as they were while it was measured.
class Beside {
 public:
  /// None.
  Beside() = default;
  Beside(const Benchmark& row, const Neighbours& here);

  /// Bytes/s of the main memory, of the row's own where its program has read that, else of that of
  /// a kernel measured in turns with it, else by the fastest probe. Unknown without one.
  const Rate& memory() const { return memory_; }
  /// FLOP/s of the unit that `roof` is of.
  Rate compute(const Ceiling* roof) const;

 private:
  /// Of the probe that is fastest in its pairs of samples with the row.
  Rate rate(double Benchmark::*work, const std::function<bool(const Benchmark&)>& serves) const;
  /// Of pairs that are quiet on both sides, unknown if they are too few; of all pairs where all
  /// samples of the row count.
  std::vector<double> ratios_to(const Benchmark& probe) const;

  const Benchmark* row_ = nullptr;
  std::vector<const Benchmark*> probes_;
  Rate memory_;
};

}  // namespace roofline
