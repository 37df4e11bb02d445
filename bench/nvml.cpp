#include "bench/nvml.hpp"

#include <chrono>
#include <cmath>

namespace bench {
namespace {

using roofline::machine::number;
using roofline::machine::Nvml;

constexpr double kKeepSeconds = 60, kPowerSeconds = 1;

struct FieldValue {
  unsigned field, scope;
  long long time_us, latency_us;
  int type, status;
  union {
    unsigned number;
    double widest;
  } value;
};
static_assert(sizeof(FieldValue) == 40);  // as NVML has it

constexpr struct {
  std::uint64_t bit;
  const char* word;
} kReasons[] = {{0x2, "application-clocks"}, {0x4, "power-cap"},         {0x8, "hardware-slowdown"},
                {0x10, "sync-boost"},        {0x20, "software-thermal"}, {0x40, "hardware-thermal"},
                {0x80, "power-brake"},       {0x100, "display-clocks"}};

}  // namespace

std::string throttle_words(std::uint64_t bits) {
  std::string words;
  for (const auto& [bit, word] : kReasons)
    if (bits & bit) words += (words.empty() ? "" : "+") + std::string(word);
  return words.empty() ? "none" : words;
}

GpuState summarise(const std::deque<GpuState>& samples, double from_s, double to_s) {
  GpuState all;
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double v) {
      if (!std::isnan(v)) sum += v, ++count;
    }
    double value() const { return count > 0 ? sum / count : std::nan(""); }
  } sm, memory, power, second;
  for (const GpuState& s : samples) {
    if (s.time_s < from_s || s.time_s > to_s) continue;
    sm.add(s.sm_clock_hz);
    memory.add(s.memory_clock_hz);
    power.add(s.power_w);
    if (s.time_s >= from_s + kPowerSeconds) second.add(s.last_second_w);
    all.throttle_known |= s.throttle_known;
    all.throttle |= s.throttle;
  }
  all.time_s = to_s;
  all.sm_clock_hz = sm.value();
  all.memory_clock_hz = memory.value();
  all.power_w = power.count > 0 ? power.value() : second.value();
  return all;
}

double NvmlSampler::now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

NvmlSampler::NvmlSampler(const std::string& pci_bus_id, double period_s, const char* library)
    : nvml_(library) {
  if (!nvml_.loaded() || !nvml_.start().empty()) return;
  if (nvml_.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device_) !=
      Nvml::kSuccess)
    device_ = nullptr;
  if (device_ != nullptr)
    thread_ = std::thread([this, period_s] { sample_until_stopped(period_s); });
}

NvmlSampler::~NvmlSampler() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stop_signal_.notify_all();
    thread_.join();
  }
}

double NvmlSampler::instant_power_w() const {
  FieldValue power{.field = Nvml::kPowerInstant};
  const bool told = nvml_.call("nvmlDeviceGetFieldValues", device_, 1, &power) == Nvml::kSuccess &&
                    power.status == Nvml::kSuccess && power.type == Nvml::kUnsigned;
  return told ? 1e-3 * power.value.number : std::nan("");
}

GpuState NvmlSampler::look() const {
  GpuState s{.time_s = now_s()};
  if (device_ == nullptr) return s;
  // First what passes soonest: the work may be over in a few milliseconds.
  if (const auto bits =
          nvml_.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device_)) {
    s.throttle_known = true;
    s.throttle = *bits;
  }
  s.power_w = instant_power_w();
  s.sm_clock_hz = number(nvml_.get("nvmlDeviceGetClockInfo", device_, Nvml::kClockSm), 1e6);
  s.memory_clock_hz = number(nvml_.get("nvmlDeviceGetClockInfo", device_, Nvml::kClockMemory), 1e6);
  s.last_second_w = number(nvml_.get<unsigned>("nvmlDeviceGetPowerUsage", device_), 1e-3);
  return s;
}

void NvmlSampler::sample_until_stopped(double period_s) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const GpuState sample = look();
    lock.lock();
    samples_.push_back(sample);
    while (samples_.front().time_s < sample.time_s - kKeepSeconds) samples_.pop_front();
    stop_signal_.wait_for(lock, std::chrono::duration<double>(period_s), [this] { return stop_; });
  }
}

void NvmlSampler::look_now() {
  const GpuState sample = look();
  const std::lock_guard lock(mutex_);
  samples_.push_back(sample);
}

GpuState NvmlSampler::over(double from_s, double to_s) {
  const std::lock_guard lock(mutex_);
  return summarise(samples_, from_s, to_s);
}

}  // namespace bench
