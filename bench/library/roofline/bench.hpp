// Puts a Google Benchmark of your own on the roofline: one call after the timing loop.
//
//   void saxpy(benchmark::State& state) {
//     …
//     for (auto _ : state) kernel(x, y, n);
//     roofline::report(state, {2.0 * n, 12.0 * n, "f32"});
//   }
//   BENCHMARK(saxpy)->UseRealTime();
//
// C++17. Link roofline::bench. For a GPU see roofline/bench_cuda.hpp.
#pragma once

#include <benchmark/benchmark.h>

#include <limits>
#include <string>

namespace roofline {

/// What one iteration of the loop does, and what it is held against.
struct Work {
  /// Floating-point or integer operations, a multiply and an add as two; 0 where there are none.
  double flops = 0;
  /// Bytes that have to cross the memory level which the data is in: each operand once. Where you
  /// know more, set state.counters["bytes_L1"], …_L2, …_L3, …_DRAM, …_HBM too: one point each.
  double bytes = 0;
  /// f64 f32 tf32 bf16 f16 e4m3 s8 … Empty only if the benchmark's name has it as one of its parts.
  std::string dtype;
  /// cpu or gpu.
  std::string device = "cpu";
  /// scalar, simd-avx2, simd-avx512, cuda-core, mma, … Empty: held against the fastest one.
  std::string exec_unit;
  /// That the kernel itself uses. Google Benchmark's own threads are refused: its counters per
  /// iteration are ambiguous with them.
  int threads = 1;
  /// Bytes that one iteration touches: which cache they are held against where only `bytes` tells.
  double working_set_bytes = std::numeric_limits<double>::quiet_NaN();
  /// Hz. By default observed on the calling thread's core (cpu), or left out (gpu).
  double clock_hz = std::numeric_limits<double>::quiet_NaN();
  /// More for the label: "key=value;key=value;".
  std::string label = {};
};

/// Sets the counters flops, bytes, FLOP/s, B/s, intensity, clock_hz, working_set_bytes and the
/// label. Call it once, behind the loop; on a CPU it takes some 200 us, outside of the time. A Work
/// that makes no sense becomes the benchmark's error, as state.SkipWithError().
void report(benchmark::State& state, const Work& work);

}  // namespace roofline
