// A results folder as the verdict sees it: what was measured, on what, in which state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/check/facts.hpp"
#include "roofline/specs/specs.hpp"

namespace roofline::check {

/// NVML's clock event reasons (nvml.h, nvmlClocksEventReason…).
inline constexpr std::uint64_t kIdle = 0x1, kApplicationClock = 0x2, kPowerCap = 0x4,
                               kHardwareSlowdown = 0x8, kThermal = 0x20 | 0x40, kPowerBrake = 0x80;

/// What trace.csv tells of one device.
struct TraceFacts {
  double steal = kUnknownNumber;            ///< mean share of CPU time that the hypervisor took
  double memory_clock_hz = kUnknownNumber;  ///< median over the samples of a busy GPU
  std::vector<std::uint64_t> throttle;      ///< clock event reasons of each sample that tells

  /// Share of the samples of a busy GPU that show one of the reasons; NaN without such samples.
  double throttled(std::uint64_t reasons) const;
};

struct Box {
  std::string folder;
  Facts machine;                         ///< machine.json
  std::vector<std::string> gpus;         ///< names of all that the machine has
  std::optional<std::size_t> gpu_index;  ///< of the one that was measured; empty if none is known
  Facts gpu;                             ///< what machine.json has of that one
  const specs::Chip* chip = nullptr;     ///< that GPU as advertised; nullptr if it is not known
  std::string capability;                ///< its compute capability, "9.0"; empty if not known
  double gpu_sms = kUnknownNumber;       ///< as the bench programs saw it
  std::vector<Ceiling> ceilings;
  TraceFacts cpu_trace, gpu_trace;

  bool has(const std::string& device) const;
  /// The GPU's memory clock: while it was busy, else the highest that it is said to have.
  double gpu_memory_clock_hz() const;
};

/// Reads machine.json, ceilings.csv, trace.csv where there is one, and run.json for which GPU; not
/// the samples, which may be packed. Throws BadInput naming what is missing or unusable.
Box read_box(const std::filesystem::path& folder);

/// The SM count from bench/*.json, packed ones too; NaN where there is none, or no unpacking.
double sms_seen(const std::filesystem::path& folder);

}  // namespace roofline::check
