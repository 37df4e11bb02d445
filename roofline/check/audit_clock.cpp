#include <fmt/format.h>

#include <cmath>

#include "roofline/base/text_table.hpp"
#include "roofline/check/audits.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

double limit(const char* name) { return Thresholds::get().limit(name); }

/// Clock event reasons over the run.
Finding reasons(const Box& box, const char* name, const char* what, std::uint64_t bits,
                Grade grade) {
  Finding out{Grade::kUnknown, name, what, {"gpu/compute", "gpu/bandwidth"}};
  const double share = box.gpu_trace.throttled(bits);
  if (std::isnan(share)) return out;
  out.grade = share > limit("throttle_share") ? grade : Grade::kPass;
  out.text = fmt::format("{} in {:.0f} % of the run", what, 100 * share);
  return out;
}

Finding power_limit(const Box& box) {
  Finding out{Grade::kUnknown, "power-limit-lowered", "power limit", {"gpu/compute"}};
  const double now = box.gpu.number("/power_limit_w");
  const double usual = box.gpu.number("/power_limit_default_w");
  if (std::isnan(now) || std::isnan(usual)) return out;
  const bool lowered = now < limit("power_limit_share") * usual;
  out.grade = lowered ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("power limit {:g} W, the board's default is {:g} W", now, usual);
  return out;
}

/// What the driver has been told to clock at: `nvidia-smi -ac`.
Finding application_clock(const Box& box) {
  Finding out{Grade::kUnknown, "application-clock", "application clock", {"gpu/compute"}};
  const double now = box.gpu.number("/application_clock_hz");
  const double usual = box.gpu.number("/application_clock_default_hz");
  if (std::isnan(now) || std::isnan(usual)) return out;
  out.grade = now < usual ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("application clock {}, the default is {}", with_prefix(now, "Hz"),
                         with_prefix(usual, "Hz"));
  return out;
}

/// The highest clock of a peak against the most that the board is said to have, unless its power or
/// heat says why.
Finding sm_clock(const Box& box) {
  Finding out{Grade::kUnknown, "sm-clock", "SM clock", {"gpu/compute", "gpu/bandwidth/L"}};
  const double most = box.gpu.number("/sm_clock_max_hz");
  double seen = kUnknownNumber;
  for (const Ceiling& c : box.ceilings) {
    if (c.device == "gpu" && c.resource == "compute") seen = std::fmax(seen, c.clock_hz);
  }
  if (std::isnan(seen) || std::isnan(most)) return out;
  const double held = box.gpu_trace.throttled(kPowerCap | kThermal | kHardwareSlowdown |
                                              kPowerBrake | kApplicationClock);
  const bool said = held > limit("throttle_share");
  out.grade = seen < limit("sm_clock_share") * most && !said ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("highest SM clock of a peak {}, the board has up to {}",
                         with_prefix(seen, "Hz"), with_prefix(most, "Hz"));
  return out;
}

std::vector<Finding> audit_gpu(const Box& box) {
  std::vector<Finding> out;
  out.push_back(power_limit(box));
  out.push_back(reasons(box, "power-cap", "held back by the power limit", kPowerCap, Grade::kNote));
  out.push_back(reasons(box, "thermal", "slowed down by heat", kThermal, Grade::kWarn));
  out.push_back(reasons(box, "hardware-slowdown", "slowed down by the board (power or heat)",
                        kHardwareSlowdown | kPowerBrake, Grade::kFail));
  out.push_back(reasons(box, "clock-locked", "held back by a clock that somebody has set",
                        kApplicationClock, Grade::kWarn));
  out.push_back(application_clock(box));
  out.push_back(sm_clock(box));
  return out;
}

Finding base_clock(const Box& box) {
  Finding out{Grade::kUnknown, "below-base-clock", "base clock", {"cpu/compute", "cpu/bandwidth"}};
  const double base = box.machine.number("/cpu/base_clock_hz");
  const int most = most_threads(box.ceilings, "cpu");
  double seen = kUnknownNumber;
  // Wide vectors and tiles may take a healthy core below its base clock.
  const auto wide = [](const std::string& unit) {
    return unit.starts_with("simd-avx512") || unit == "amx";
  };
  for (const Ceiling& c : box.ceilings) {
    if (c.device == "cpu" && c.resource == "compute" && c.threads == most && !wide(c.exec_unit)) {
      seen = std::fmin(seen, c.clock_hz);
    }
  }
  if (std::isnan(base) || std::isnan(seen)) return out;
  out.grade = seen < limit("clock_share") * base ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("lowest clock of a peak {}, the base clock is {}", with_prefix(seen, "Hz"),
                         with_prefix(base, "Hz"));
  return out;
}

/// A limit by firmware or by scaling_max_freq.
Finding clock_limit(const Box& box) {
  Finding out{Grade::kUnknown, "clock-limit", "clock limit", {"cpu/compute", "cpu/bandwidth"}};
  const double now = box.machine.number("/state/clock_limit_hz");
  const double most = box.machine.number("/state/clock_max_hz");
  if (std::isnan(now) || std::isnan(most)) return out;
  out.grade = now < limit("clock_share") * most ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("clock limited to {} by firmware or policy, the CPU's is {}",
                         with_prefix(now, "Hz"), with_prefix(most, "Hz"));
  return out;
}

/// Where the kernel found a CPU's own counter unsteady, every reading of the clock goes to a
/// device.
Finding clock_source(const Box& box) {
  const std::string source = box.machine.text("/state/clock_source");
  Finding out{Grade::kUnknown,
              "slow-clock-source",
              "clock source",
              {"cpu/compute", "cpu/bandwidth", "cpu/latency"}};
  if (source.empty()) return out;
  const bool device =
      source == "hpet" || source == "acpi_pm" || source.find("jiffies") != std::string::npos;
  out.grade = device ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("the kernel's clock source is {}{}", source,
                         device ? ", whose readings take a microsecond or more" : "");
  return out;
}

std::vector<Finding> audit_cpu(const Box& box) {
  std::vector<Finding> out;
  const std::string governor = box.machine.text("/state/governor");
  const std::string driver = box.machine.text("/state/frequency_driver");
  const bool good = governor == "performance";
  // These raise the clock under load whatever their governor is called.
  const bool by_itself = driver == "intel_pstate" || driver == "amd-pstate-epp";
  out.push_back({governor.empty() ? Grade::kUnknown
                 : good           ? Grade::kPass
                 : by_itself      ? Grade::kNote
                                  : Grade::kWarn,
                 "governor",
                 governor.empty() ? "frequency governor"
                                  : fmt::format("the frequency governor is {}", governor),
                 {"cpu/compute", "cpu/bandwidth", "cpu/latency"}});
  const auto boost = box.machine.flag("/state/boost");
  out.push_back({!boost   ? Grade::kUnknown
                 : *boost ? Grade::kPass
                          : Grade::kWarn,
                 "boost-off",
                 boost && !*boost ? "boost (turbo) is switched off" : "boost",
                 {"cpu/compute", "cpu/bandwidth"}});
  out.push_back(base_clock(box));
  out.push_back(clock_limit(box));
  out.push_back(clock_source(box));
  return out;
}

}  // namespace

std::vector<Finding> audit_clock(const Box& box, const std::string& device) {
  return device == "gpu" ? audit_gpu(box) : audit_cpu(box);
}

}  // namespace roofline::check
