#include "roofline/machine/machine.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <exception>

#include "roofline/machine/gpu.hpp"
#include "roofline/machine/limits.hpp"
#include "roofline/machine/processor.hpp"
#include "roofline/machine/state.hpp"
#include "roofline/machine/topology.hpp"

namespace roofline::machine {
namespace {

using nlohmann::json;

json text(const std::string& value) { return value.empty() ? json(nullptr) : json(value); }

template <class T>
json known(T value) {
  return value > 0 ? json(value) : json(nullptr);
}

template <class T>
json maybe(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// What the sources contradict each other on; a VM often shows the guest one cache and lets CPUID
// tell of another.
json disagreements(const Machine& machine, const Processor& processor, const Topology& topology,
                   const Limits& limits) {
  json lines = json::array();
  for (const auto& told : processor.caches) {
    const auto seen = std::find_if(machine.caches.begin(), machine.caches.end(),
                                   [&](const Cache& c) { return c.level == told.level; });
    if (seen == machine.caches.end()) {
      lines.push_back(
          fmt::format("L{}: CPUID tells of {} bytes, the system of none", told.level, told.bytes));
    } else if (seen->bytes != told.bytes) {
      lines.push_back(fmt::format("L{}: the system tells of {} bytes, CPUID of {}", told.level,
                                  seen->bytes, told.bytes));
    }
  }
  if (limits.memory_total && !topology.memory_nodes.empty()) {
    std::int64_t sum = 0;
    for (const auto& node : topology.memory_nodes) sum += node.bytes;
    if (std::abs(static_cast<double>(sum - *limits.memory_total)) >
        0.02 * static_cast<double>(sum)) {
      lines.push_back(fmt::format("memory: /proc/meminfo tells of {} bytes, the nodes of {}",
                                  *limits.memory_total, sum));
    }
  }
  if (!limits.cpuset.empty() &&
      static_cast<int>(limits.cpuset.size()) < topology.usable_logical_cpus) {
    lines.push_back(fmt::format("CPUs: the cpuset holds {}, the affinity mask {}",
                                limits.cpuset.size(), topology.usable_logical_cpus));
  }
  return lines;
}

json cpu_facts(const Machine& machine, const Processor& processor, const Topology& topology) {
  return {{"model", text(machine.cpu_model)},
          {"vendor", text(machine.cpu_vendor)},
          {"family", known(machine.cpu_family)},
          {"model_number", known(machine.cpu_model_number)},
          {"stepping", machine.cpu_stepping},
          {"implementer", processor.implementer < 0 ? json(nullptr) : json(processor.implementer)},
          {"part", processor.part < 0 ? json(nullptr) : json(processor.part)},
          {"microarchitecture", text(machine.microarchitecture)},
          {"base_clock_hz", known(processor.base_clock_hz)},
          {"sockets", known(topology.sockets)},
          {"physical_cores", known(machine.physical_cores)},
          {"logical_cpus", known(machine.logical_cpus)},
          {"threads_per_core", topology.threads_per_core},
          {"core_kinds", topology.core_kinds}};
}

json memory_facts(const Machine& machine, const Topology& topology, const Limits& limits) {
  json nodes = json::array();
  for (const auto& node : topology.memory_nodes) {
    nodes.push_back({{"node", node.index}, {"bytes", known(node.bytes)}, {"cores", node.cores}});
  }
  return {{"bytes", known(machine.memory_bytes)},
          {"free_bytes", maybe(limits.memory_free)},
          {"usable_bytes", known(machine.memory_limit_bytes)},
          {"nodes", nodes}};
}

}  // namespace

Machine probe() {
  const Processor processor = read_processor();
  const Limits limits = read_limits();
  Topology topology;
  std::string topology_fault;
  try {
    topology = read_topology(limits.cpuset);
  } catch (const std::exception& fault) {
    topology_fault = fault.what();
  }
  if (topology.cpus.empty()) topology.cpus = {std::max(0, sched_getcpu())};

  Machine machine;
  machine.cpu_model = processor.model_name;
  machine.cpu_vendor = processor.vendor;
  machine.cpu_family = processor.family;
  machine.cpu_model_number = processor.model;
  machine.cpu_stepping = processor.stepping;
  machine.microarchitecture = microarchitecture(processor);
  machine.logical_cpus = topology.logical_cpus;
  machine.physical_cores = topology.physical_cores;
  machine.cpus = topology.cpus;
  const auto cores = static_cast<int>(topology.cpus.size());
  machine.usable_threads =
      limits.cpu_quota ? std::clamp(static_cast<int>(*limits.cpu_quota), 1, cores) : cores;
  machine.memory_bytes = limits.memory_total.value_or(0);
  machine.memory_limit_bytes = usable_memory(limits);
  machine.caches = topology.caches;
  machine.name = machine_name(processor, machine.microarchitecture, machine.usable_threads);

  json caches = json::array();
  for (const auto& cache : machine.caches) {
    caches.push_back({{"level", cache.level},
                      {"bytes", cache.bytes},
                      {"cores_sharing", cache.cores_sharing},
                      {"total_bytes", cache.total_bytes}});
  }
  auto faults = disagreements(machine, processor, topology, limits);
  if (!topology_fault.empty()) faults.push_back(topology_fault);
  machine.facts = {{"name", machine.name},
                   {"cpu", cpu_facts(machine, processor, topology)},
                   {"caches", caches},
                   {"memory", memory_facts(machine, topology, limits)},
                   {"usable", {{"cpus", machine.cpus}, {"threads", machine.usable_threads}}},
                   {"limits",
                    {{"cgroup_version", text(limits.cgroup_version)},
                     {"cpuset", limits.cpuset.empty() ? json(nullptr) : json(limits.cpuset)},
                     {"cpu_quota_cores", maybe(limits.cpu_quota)},
                     {"memory_limit_bytes", maybe(limits.memory_limit)},
                     {"memory_left_bytes", maybe(limits.memory_left)}}},
                   {"state", read_state(processor)},
                   {"disagreements", faults},
                   {"gpu", read_gpus()}};
  return machine;
}

}  // namespace roofline::machine
