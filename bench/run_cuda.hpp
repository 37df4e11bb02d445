// Timing of one GPU benchmark.
#pragma once

#include <string>

#include "bench/problem_cache.hpp"

namespace bench {

/// The GPU as kernels see it; all zero where there is none that can be used.
kernels::Caches gpu_caches();

/// Why no GPU can be used, in one line; empty if one can.
std::string gpu_fault();

/// The GPU's name, clocks, driver and memory as context strings. Only where gpu_fault() is empty.
void add_gpu_context();

/// Registers `entry` with manual time: CUDA events around batches of calls that are queued behind a
/// gate, so that launch gaps stay out; SM clock, power and throttle reasons of the same span go
/// into the counters. A wrong result, a case that does not fit or a CUDA error becomes an error
/// row. With `count` each sample is followed by calls under the chip's hardware counters: counters
/// counted_flops and counted_bytes_<level> per call, or why there are none as counters= in the
/// label. The references must outlive the benchmark run.
void register_gpu(const Entry& entry, ProblemCache& cache, const kernels::Caches& gpu, bool count);

}  // namespace bench
