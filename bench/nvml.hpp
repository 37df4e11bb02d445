// Clock, power and throttle reasons of a GPU, sampled through NVML.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "roofline/machine/nvml.hpp"

namespace bench {

/// One look at the device; NaN or !known where NVML does not tell.
struct GpuState {
  double time_s = 0;  ///< steady clock
  double sm_clock_hz = std::numeric_limits<double>::quiet_NaN();
  double memory_clock_hz = std::numeric_limits<double>::quiet_NaN();
  double power_w = std::numeric_limits<double>::quiet_NaN();
  double last_second_w = std::numeric_limits<double>::quiet_NaN();  ///< mean of the second before
  bool throttle_known = false;
  std::uint64_t throttle = 0;  ///< nvmlClocksThrottleReasons bits
};

/// The reasons in words joined by '+', "none" if there is none. Idleness is no throttling.
std::string throttle_words(std::uint64_t bits);

/// What the samples between two times say together: means, and every throttle bit seen. Where power
/// is told as the mean of a second only, that second must lie between the times.
GpuState summarise(const std::deque<GpuState>& samples, double from_s, double to_s);

/// Samples the device in a thread of its own for as long as it lives; without NVML it knows
/// nothing.
class NvmlSampler {
 public:
  /// `pci_bus_id` as cudaDeviceGetPCIBusId gives it: NVML numbers devices in its own order.
  /// `library` is for tests.
  explicit NvmlSampler(const std::string& pci_bus_id, double period_s = 0.02,
                       const char* library = "libnvidia-ml.so.1");
  ~NvmlSampler();
  NvmlSampler(const NvmlSampler&) = delete;
  NvmlSampler& operator=(const NvmlSampler&) = delete;

  /// One look besides the thread's, to be taken while the work is on the device: what it says of an
  /// idle one is no answer.
  void look_now();
  /// Over a span of the steady clock.
  GpuState over(double from_s, double to_s);
  static double now_s();

 private:
  GpuState look() const;
  double instant_power_w() const;
  void sample_until_stopped(double period_s);

  roofline::machine::Nvml nvml_;
  roofline::machine::Nvml::Device device_ = nullptr;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::deque<GpuState> samples_;  ///< of the last minute
  std::thread thread_;
};

}  // namespace bench
