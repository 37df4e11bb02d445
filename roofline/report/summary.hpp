// The tables for people that end a run or an analysis.
#pragma once

#include <string>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/overlay/point.hpp"

namespace roofline {

/// Peaks, read bandwidths and latencies: advertised, theory at the clock, measured, share.
std::string ceilings_summary(const std::vector<Ceiling>& ceilings);

/// For each operation, dtype, shape, temperature and thread count the fastest kernel (a library
/// only where there is nothing else): time, rate, bound, share of its roof, how far its bounds
/// overlap, against the best library. Parts of programs are left out. Below the table: faults,
/// peaks of other units that stand in for a kernel's own, and how many rows have been guessed to
/// read the main memory.
std::string kernels_summary(const std::vector<Point>& points);

/// How far bytes and FLOPs by hardware counters lie from the model's. Empty if none were counted.
std::string counters_summary(const std::vector<Point>& counted);

/// How many benchmarks want samples, the last attempt at each; without a line's end. Empty if none
/// does.
std::string wanting_samples(const std::vector<Benchmark>& rows);

/// How many benchmarks still want samples after the further rounds, for which a run has `rounds_s`.
/// Empty if none does.
std::string samples_summary(const std::vector<Benchmark>& rows, double rounds_s);

/// One line a reason: how many benchmarks were skipped for it, and one of them. Empty if none was.
std::string skips_summary(const std::vector<SkippedRow>& skipped);

}  // namespace roofline
