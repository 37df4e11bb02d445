// What this machine is, the state that affects timing, and the limits that a container sets.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roofline::machine {

/// One cache level as the machine reports it. A VM may report the host's.
struct Cache {
  int level = 0;                 ///< 1, 2, 3
  std::int64_t bytes = 0;        ///< one instance (data or unified), that with least for a core
  int cores_sharing = 1;         ///< usable cores that share one instance
  std::int64_t total_bytes = 0;  ///< all instances that the usable cores reach
  /// Of the instances that the first, the first two, … of the machine's `cpus` reach; empty of a
  /// machine that a file tells of.
  std::vector<std::int64_t> reached_bytes;
};

/// Facts; an unknown text is empty, an unknown number 0.
struct Machine {
  std::string name;       ///< model and core count, as in results/<name>/; no host name
  std::string cpu_model;  ///< as the CPU tells it
  std::string cpu_vendor;
  int cpu_family = 0, cpu_model_number = 0, cpu_stepping = 0;
  std::string microarchitecture;  ///< key into specs/cpu.json, e.g. "zen3"; empty if unknown
  int logical_cpus = 0;           ///< online, host view
  int physical_cores = 0;
  std::vector<int> cpus;                ///< one logical CPU per usable physical core, for pinning
  int usable_threads = 1;               ///< min(usable cores, cpu.max quota rounded down)
  std::int64_t memory_bytes = 0;        ///< of the machine
  std::int64_t memory_limit_bytes = 0;  ///< available now and within the container's limit
  std::vector<Cache> caches;
  nlohmann::json facts;  ///< all of the above and the state, as in machine.json
};

/// Looks at this machine (hwloc, CPUID, sysfs, cgroups, NVML where there is a driver). Never
/// throws for a fact that cannot be read: it stays unknown.
Machine probe();

}  // namespace roofline::machine
