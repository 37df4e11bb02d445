// Cores, caches and memory nodes, from hwloc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "roofline/machine/machine.hpp"

namespace roofline::machine {

/// One NUMA node.
struct MemoryNode {
  int index = 0;
  std::int64_t bytes = 0;
  int cores = 0;  ///< usable cores that are local to it
};

/// Host view and, of it, what this process may use.
struct Topology {
  int logical_cpus = 0;
  int physical_cores = 0;
  int sockets = 0;
  int threads_per_core = 1;  ///< the most over all cores
  std::vector<int> cpus;     ///< the first usable logical CPU of each usable core, ascending
  int usable_logical_cpus = 0;
  int core_kinds = 1;         ///< of different speed: 2 with performance and efficient cores
  std::vector<Cache> caches;  ///< data and unified, level 1 first; of the usable cores
  std::vector<MemoryNode> memory_nodes;
};

/// Reads this machine. A CPU counts as usable if it is in `allowed` (empty: any), in the
/// container's cpuset and in this process's affinity mask. `synthetic` is hwloc's description of
/// a made-up machine (tests), for which only `allowed` counts. Throws std::runtime_error if hwloc
/// cannot load a topology.
Topology read_topology(const std::vector<int>& allowed = {}, const char* synthetic = nullptr);

}  // namespace roofline::machine
