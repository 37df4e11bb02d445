// The quiet gate: which samples were taken while nobody else used the cores or the memory.
//
// Other processes want the same CPUs. Virtual CPUs also float on their host: at times two of them
// share a core, the clock falls, or a neighbour takes the memory bus, and any figure can be halved
// without a trace in it. Windows beside each sample and the scheduler's account tell
// (bench/window.hpp); the timed sample itself is never looked at, or fast ones would be selected.
#pragma once

#include <vector>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Independent instructions per cycle, against the core's own figure or the run's upper decile,
/// whichever is higher. A shared core gives half; on the reference host there also are phases of
/// 0.87, in which multiply-adds are 9 % slower, and idle windows scatter by 3 %.
inline constexpr double kQuietIssue = 0.93;
/// Independent multiplies and adds per cycle, mean over the cores, against the run's upper decile.
/// On the reference host a core to itself gives 5.8, and 2.6 to 5.5 where it is shared with a
/// thread that does not multiply. Warm kernels on one core take 4 to 10 % longer anywhere below
/// 0.95; on four, of which some are shared nearly always, 8 to 13 % below 0.65 and 2 to 4 % above.
constexpr double quiet_dispatch(int threads) { return threads == 1 ? 0.95 : 0.65; }
/// Share of the time that threads which could run had to wait for a CPU: other processes here.
inline constexpr double kQuietWait = 0.02;
/// Clock, against the upper decile of the same benchmark's windows: clocks of neighbouring windows
/// differ by up to 6 % on an idle machine.
inline constexpr double kQuietClock = 0.93;
/// Memory window, against the upper decile of the run's on as many threads, as far from each other
/// (kQuietHandover): it is short, and scatters by a fifth on an idle machine.
inline constexpr double kQuietMemory = 0.70;
/// Hand-over of a line between cores, against the lower decile of the run's on as many threads, of
/// rows whose data do not come from memory. A host puts virtual CPUs on one last cache or on two, a
/// sixth of the time or all of it, and nothing lies between; short products then take 1.25 times as
/// long (results/amd-epyc-zen4-2c). Memory gives up to twice as much in the second state: of rows
/// with a window of it those samples count whose state most of them have.
inline constexpr double kQuietHandover = 2;
/// A call that takes as many hand-overs or more hardly feels it: products of up to 1.2 ms take 1.0
/// to 1.5 times as long, of 5 to 80 ms 1.00 to 1.03 times.
inline constexpr double kHandoversOfAShortCall = 30e3;
/// Two sides of a ratio had the same memory if their windows differ by less. Other guests of a host
/// may leave a half of it for seconds on end: both sides at their time are still to be compared.
inline constexpr double kSameMemory = 0.15;
/// With fewer quiet samples than this the benchmark is reported as lived, and said so.
inline constexpr std::size_t kFewestQuiet = 3;

/// A clock that moves by more between the samples that count, or between a kernel and its peak, is
/// part of the result. Medians of runs on the reference host lie within 8 %.
inline constexpr double kClockMoved = 0.10;
/// disagreement() of the samples that count: more, and they tell of several things. On the
/// reference host one row in twenty is beyond.
inline constexpr double kDisagreement = 0.15;

/// Leaves only quiet samples in each row's times_s and clock_hz, if there are kFewestQuiet of them
/// or all are; sets quiet_samples and quiet_at. What a row does not carry rejects nothing: rows
/// that the gate did not watch, a GPU's and a user's own, stay whole, whatever their clock did.
/// `issue_per_cycle` is what a core of this machine gives by itself, NaN if no table tells: without
/// it a run of which not one moment in ten was quiet looks quiet.
void set_disturbed_apart(std::vector<Benchmark>& rows, double issue_per_cycle = kUnknownNumber);

/// Whether too few samples were quiet, or those that count disagree; as set_disturbed_apart() left
/// the row.
bool wants_samples(const Benchmark& row);

/// How far below the highest clock beside a sample the lowest one was, as a share; of the quiet
/// samples, or of all. NaN where no clock is known.
double clock_fall(const Benchmark& row, bool quiet_only);

/// How many times as long as `row` another one takes: of each pair of samples, which were
/// neighbours in time, of which both are quiet (of memory: with cores as far from each other) or,
/// with less of the memory or farther cores than that, the same of both (kSameMemory,
/// kQuietHandover). Empty with fewer pairs than kFewestQuiet. Of the medians, as one, where there
/// were no windows.
std::vector<double> paired_ratios(const Benchmark& row, const Benchmark& other);

/// The same of all pairs, quiet or not.
std::vector<double> lived_ratios(const Benchmark& row, const Benchmark& other);

/// The median of paired_ratios(); NaN without any.
double paired_ratio(const Benchmark& row, const Benchmark& other);

}  // namespace roofline
