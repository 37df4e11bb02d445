// How long measuring takes, as expected before it is known.
#pragma once

#include <cstddef>

#include "roofline/run/run_plan.hpp"

namespace roofline {

/// Bytes that a cold product's copies of its weights take, or more.
inline constexpr double kColdWeights = 1 << 30;

/// How a unit is measured.
struct Sampling {
  int rounds = 1;       ///< processes, one after the other
  double samples = 9;   ///< of a benchmark, in all of them
  double sample_s = 0;  ///< that the command line asks for
  /// That a CPU's data must have to come from main memory; 0: not known.
  double cold_bytes = 0;
};

/// All processes of the unit. What goes before the samples, which the command line does not tell,
/// is most of it on a GPU, and on a CPU whose last cache is large.
double expected_s(const Unit& unit, const Sampling& sampling);

/// What counting by hardware counters adds to it: a process more, with one sample of each.
double counting_s(const Unit& unit);

/// The length of a sample on the CPU that makes so many benchmarks and processes take `budget_s`;
/// not positive where there is no time for any.
double sample_within(double budget_s, std::size_t benchmarks, std::size_t processes,
                     double samples);

}  // namespace roofline
