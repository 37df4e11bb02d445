// What the processor says about itself: CPUID on x86, MIDR by way of /proc/cpuinfo on Arm.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace roofline::machine {

/// A data or unified cache as CPUID enumerates it (leaf 4, or 0x8000001D on AMD).
struct ProcessorCache {
  int level = 0;
  std::int64_t bytes = 0;
  int threads_sharing = 0;  ///< the most logical CPUs that CPUID lets share it
};

/// An unknown text is empty, an unknown number 0; part and implementer are -1 on x86.
struct Processor {
  std::string vendor;      ///< "AuthenticAMD", "GenuineIntel", "Arm" …
  std::string model_name;  ///< the brand string
  int family = 0, model = 0, stepping = 0;
  int implementer = -1, part = -1;  ///< Arm's MIDR
  bool amx = false;                 ///< CPUID has AMX-TILE
  std::vector<ProcessorCache> caches;
  std::string hypervisor;    ///< CPUID's signature, e.g. "KVMKVMKVM"
  bool virtualised = false;  ///< CPUID's hypervisor bit
  double base_clock_hz = 0;  ///< leaf 0x16, the brand string's "@ 2.90GHz", or the kernel's
};

/// This processor. `root` is put before /proc and /sys (tests).
Processor read_processor(const std::filesystem::path& root = "/");

/// Model name, implementer and part from a /proc/cpuinfo text (Arm, or x86 without CPUID).
void read_cpuinfo(std::string_view text, Processor& processor);

/// "Intel(R) Xeon(R) CPU @ 2.90GHz" -> 2.9e9; 0 if the name holds no clock.
double clock_in_name(std::string_view model_name);

/// Key of specs/cpu.json for this processor, or "".
std::string microarchitecture(const Processor& processor);

/// A model's name as machines are named: lower case, what is neither letter nor digit a hyphen.
std::string plain_name(std::string_view model);

/// Name of a machine: the model as lower-case words joined by '-', the microarchitecture where the
/// model holds no number of its own ("AMD EPYC"), and the cores: "amd-epyc-zen3-4c".
std::string machine_name(const Processor& processor, const std::string& microarchitecture,
                         int cores);

}  // namespace roofline::machine
