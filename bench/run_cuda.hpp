// Timing of one GPU benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "bench/problem_cache.hpp"

namespace bench {

/// The GPU as kernels see it; all zero where there is none that can be used.
kernels::Caches gpu_caches();

/// What is free of its memory now.
double gpu_free_bytes();

/// Why no GPU can be used, in one line; empty if one can.
std::string gpu_fault();

/// The GPU's name, clocks, driver and memory as context strings. Only where gpu_fault() is empty.
void add_gpu_context();

/// Calls `measure`. Why the benchmark `name` has no time, where that is the case's own affair: bad
/// input, what a library refuses, no memory; else empty. After any other CUDA error, such as a
/// fault inside a kernel, every call on this context fails, whatever the benchmark: one line on
/// stderr names this one, and the process ends with roofline::kExitFault.
std::string reason_without_time(const std::string& name, const std::function<void()>& measure);

/// Registers `entry` with manual time: CUDA events around batches of calls that are queued behind a
/// gate, so that launch gaps stay out; SM clock, power and throttle reasons of the same span go
/// into the counters. A wrong result or a case that does not fit becomes an error row, a CUDA error
/// ends the program (reason_without_time). With `count` each sample is followed by calls under the
/// chip's hardware counters: counters counted_flops and counted_bytes_<level> per call, or why
/// there are none as counters= in the label. The references must outlive the benchmark run.
/// `iterations` of a sample; 0: as many as --benchmark_min_time asks for. `timed` becomes true with
/// a sample.
void register_gpu(const Entry& entry, ProblemCache& cache, const kernels::Caches& gpu, bool count,
                  benchmark::IterationCount iterations, bool& timed);

}  // namespace bench
