// Times work on a CUDA stream by events, for benchmarks with manual time:
//
//   void copy(benchmark::State& state) {
//     …
//     roofline::time_on_gpu(state, stream, [&] { kernel<<<blocks, threads, 0, stream>>>(…); });
//     roofline::report(state, {0, 2.0 * size, "f32", "gpu"});
//   }
//   BENCHMARK(copy)->UseManualTime();
//
// Needs the CUDA runtime's headers and library; roofline::bench itself does not.
#pragma once

#include <benchmark/benchmark.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace roofline {

/// A pair of events.
class EventTimer {
 public:
  EventTimer() {
    if (ok(cudaEventCreate(&start_))) ok(cudaEventCreate(&stop_));
  }
  ~EventTimer() {
    if (stop_) cudaEventDestroy(stop_);
    if (start_) cudaEventDestroy(start_);
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  /// Seconds between the events around `count` calls of `enqueue`, all done when it returns. Below
  /// 0 after a CUDA error: see fault().
  template <class Enqueue>
  double seconds(cudaStream_t stream, std::int64_t count, Enqueue&& enqueue) {
    float milliseconds = 0;
    if (fault_ != cudaSuccess || !ok(cudaEventRecord(start_, stream))) return -1;
    for (std::int64_t i = 0; i < count; ++i) enqueue();
    const bool done = ok(cudaGetLastError()) && ok(cudaEventRecord(stop_, stream)) &&
                      ok(cudaEventSynchronize(stop_)) &&
                      ok(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return done ? 1e-3 * milliseconds : -1;
  }
  /// The first error; cudaSuccess if there was none.
  cudaError_t fault() const { return fault_; }

 private:
  bool ok(cudaError_t result) {
    if (fault_ == cudaSuccess) fault_ = result;
    return result == cudaSuccess;
  }

  cudaEvent_t start_ = nullptr, stop_ = nullptr;
  cudaError_t fault_ = cudaSuccess;
};

/// The benchmark's whole loop. Calls are timed in batches of about 4 ms, well above the events'
/// resolution of 0.5 us, and at most 256, which the launch queue holds. The gaps between launches
/// are part of the time: a kernel that is shorter than a launch takes (some us) shows the launch.
/// A CUDA error becomes the benchmark's error. The first call warms up and is not timed.
template <class Enqueue>
void time_on_gpu(benchmark::State& state, cudaStream_t stream, Enqueue&& enqueue) {
  constexpr double kBatchSeconds = 4e-3;
  constexpr std::int64_t kMostCalls = 256;
  EventTimer timer;
  timer.seconds(stream, 1, enqueue);
  std::int64_t batch = 1;
  while (batch < kMostCalls && timer.fault() == cudaSuccess &&
         timer.seconds(stream, batch, enqueue) < kBatchSeconds) {
    batch *= 2;
  }
  if (timer.fault() != cudaSuccess) state.SkipWithError(cudaGetErrorString(timer.fault()));
  while (state.KeepRunningBatch(batch)) {
    const double seconds = timer.seconds(stream, batch, enqueue);
    if (seconds < 0) {
      state.SkipWithError(cudaGetErrorString(timer.fault()));
      break;
    }
    state.SetIterationTime(seconds);
  }
}

}  // namespace roofline
