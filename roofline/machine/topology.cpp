#include "roofline/machine/topology.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace roofline::machine {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Destroy>;

Handle load(const char* synthetic) {
  // Where /sys is missing, as in some sandboxes, it would say so on stderr in every program.
  setenv("HWLOC_HIDE_ERRORS", "2", 0);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw std::runtime_error("hwloc cannot start");
  Handle topology(raw);
  // The host's cores count too: a container that got 4 of 64 cores is worth knowing.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (synthetic && hwloc_topology_set_synthetic(raw, synthetic) != 0) {
    throw std::runtime_error("hwloc does not understand this synthetic topology");
  }
  if (hwloc_topology_load(raw) != 0) throw std::runtime_error("hwloc cannot read the topology");
  return topology;
}

Bitmap affinity() {
  // The kernel refuses a mask that is too small for its number of CPUs.
  for (int most = 1024; most <= 1 << 16; most *= 2) {
    cpu_set_t* mask = CPU_ALLOC(most);
    const std::size_t size = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(size, mask);
    const bool read = sched_getaffinity(0, size, mask) == 0;
    Bitmap bitmap(hwloc_bitmap_alloc());
    for (int cpu = 0; read && cpu < most; ++cpu) {
      if (CPU_ISSET_S(cpu, size, mask)) hwloc_bitmap_set(bitmap.get(), cpu);
    }
    CPU_FREE(mask);
    if (read) return bitmap;
  }
  return nullptr;
}

Bitmap usable_cpus(hwloc_topology_t topology, const std::vector<int>& allowed, bool real) {
  Bitmap usable(hwloc_bitmap_dup(hwloc_topology_get_topology_cpuset(topology)));
  const auto keep = [&](hwloc_const_bitmap_t of) {
    if (of && hwloc_bitmap_intersects(usable.get(), of)) {
      hwloc_bitmap_and(usable.get(), usable.get(), of);
    }
  };
  if (real) {
    keep(hwloc_topology_get_allowed_cpuset(topology));
    keep(affinity().get());
  }
  Bitmap listed(hwloc_bitmap_alloc());
  for (const int cpu : allowed) hwloc_bitmap_set(listed.get(), cpu);
  keep(listed.get());
  return usable;
}

// A machine that tells of no cores (some VMs) has one for every logical CPU.
hwloc_obj_type_t core_type(hwloc_topology_t topology) {
  return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

int cores_within(hwloc_topology_t topology, hwloc_const_bitmap_t cpus,
                 hwloc_const_bitmap_t usable) {
  const auto type = core_type(topology);
  int count = 0;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
    Bitmap common(hwloc_bitmap_alloc());
    hwloc_bitmap_and(common.get(), core->cpuset, usable);
    count += hwloc_bitmap_intersects(common.get(), cpus);
  }
  return count;
}

std::vector<std::int64_t> reached_bytes(hwloc_topology_t topology, hwloc_obj_type_t type,
                                        const std::vector<int>& cpus) {
  std::vector<std::int64_t> out(cpus.size());
  for (hwloc_obj_t cache = nullptr;
       (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;) {
    bool reached = false;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      reached = reached || hwloc_bitmap_isset(cache->cpuset, static_cast<unsigned>(cpus[i])) != 0;
      if (reached) out[i] += static_cast<std::int64_t>(cache->attr->cache.size);
    }
  }
  return out;
}

Cache read_cache(hwloc_topology_t topology, int level, hwloc_obj_type_t type,
                 hwloc_const_bitmap_t usable) {
  Cache cache;
  cache.level = level;
  for (hwloc_obj_t found = nullptr;
       (found = hwloc_get_next_obj_by_type(topology, type, found)) != nullptr;) {
    if (!hwloc_bitmap_intersects(found->cpuset, usable)) continue;
    const auto bytes = static_cast<std::int64_t>(found->attr->cache.size);
    if (bytes <= 0) continue;
    cache.total_bytes += bytes;
    const int cores = std::max(1, cores_within(topology, found->cpuset, usable));
    if (cache.bytes == 0 || bytes / cores < cache.bytes / cache.cores_sharing) {
      cache.bytes = bytes;
      cache.cores_sharing = cores;
    }
  }
  return cache;
}

}  // namespace

Topology read_topology(const std::vector<int>& allowed, const char* synthetic) {
  const Handle handle = load(synthetic);
  const auto topology = handle.get();
  const Bitmap usable =
      usable_cpus(topology, allowed, hwloc_topology_is_thissystem(topology) && !synthetic);

  Topology result;
  result.logical_cpus = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  result.sockets = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  result.usable_logical_cpus = hwloc_bitmap_weight(usable.get());
  result.core_kinds = std::max(1, hwloc_cpukinds_get_nr(topology, 0));
  const auto type = core_type(topology);
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, type, core)) != nullptr;) {
    ++result.physical_cores;
    result.threads_per_core = std::max(result.threads_per_core, hwloc_bitmap_weight(core->cpuset));
    Bitmap own(hwloc_bitmap_alloc());
    hwloc_bitmap_and(own.get(), core->cpuset, usable.get());
    const int first = hwloc_bitmap_first(own.get());
    if (first >= 0) result.cpus.push_back(first);
  }
  std::sort(result.cpus.begin(), result.cpus.end());

  const std::pair<int, hwloc_obj_type_t> levels[] = {{1, HWLOC_OBJ_L1CACHE},
                                                     {2, HWLOC_OBJ_L2CACHE},
                                                     {3, HWLOC_OBJ_L3CACHE},
                                                     {4, HWLOC_OBJ_L4CACHE}};
  for (const auto& [level, cache_type] : levels) {
    Cache cache = read_cache(topology, level, cache_type, usable.get());
    cache.reached_bytes = reached_bytes(topology, cache_type, result.cpus);
    if (cache.bytes > 0) result.caches.push_back(std::move(cache));
  }
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    result.memory_nodes.push_back({static_cast<int>(node->os_index),
                                   static_cast<std::int64_t>(node->attr->numanode.local_memory),
                                   cores_within(topology, node->cpuset, usable.get())});
  }
  return result;
}

}  // namespace roofline::machine
