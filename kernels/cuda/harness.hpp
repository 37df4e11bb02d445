// Device-side tools of the timing harness: a gate in front of queued work, the SM clock across it.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "kernels/cuda/memory.hpp"

namespace kernels::cuda {

/// Holds a stream until it is opened, so that everything behind it is queued before any of it runs
/// and the host's launch gaps stay out of the measurement (nvbench's blocking kernel). Opens by
/// itself after `kTimeoutSeconds`, so that a full launch queue cannot hang the process.
class Gate {
 public:
  static constexpr double kTimeoutSeconds = 0.5;

  Gate();
  void close(cudaStream_t stream);
  void open();
  /// Whether the last closing ended by the timeout: its measurement holds launch gaps. Only after
  /// the stream was waited for.
  bool timed_out() const;

 private:
  Memory flags_;  ///< pinned: [0] open, [1] timed out
};

/// Opens a gate also when enqueueing throws: else the stream would stay shut until its timeout.
struct OpenAtEnd {
  Gate& gate;
  ~OpenAtEnd() { gate.open(); }
};

/// Reads every SM's clock counter and the global nanosecond timer at two points of a stream; the
/// quotient of the differences is the SM clock over everything between them, load included.
class ClockMeter {
 public:
  explicit ClockMeter(int sms);
  void stamp_start(cudaStream_t stream);
  void stamp_stop(cudaStream_t stream);
  /// Median over the SMs that both stamps saw, in Hz; NaN if the stamps are less than 100 us apart,
  /// where the timer's resolution (1 us on some chips) would show. After the stream was waited for.
  double hz() const;

 private:
  int sms_;
  Memory stamps_;
};

struct ClockStamp {
  long long cycles;
  unsigned long long nanoseconds;  ///< 0: this SM was not seen
};

/// The arithmetic of ClockMeter::hz, by SM number.
double clock_between(const std::vector<ClockStamp>& start, const std::vector<ClockStamp>& stop);

}  // namespace kernels::cuda
