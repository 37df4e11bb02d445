#include "roofline/ceilings/roofs.hpp"

#include <nlohmann/json.hpp>

#include "roofline/machine/processor.hpp"

namespace roofline {
namespace {

using nlohmann::json;

double number(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_number() ? found->get<double>() : kUnknownNumber;
}

/// Facts of the chosen GPU, by its position among those that are seen; the first one's if the
/// choice is none. An empty object if there are none, or if it is a slice of one of several (MIG).
json gpu_facts(const json& facts, const std::string& choice) {
  const json::json_pointer path("/gpu/devices");
  if (!facts.is_object() || !facts.contains(path)) return json::object();
  const json& devices = facts.at(path);
  if (!devices.is_array()) return json::object();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (std::to_string(i) == choice) return devices[i];
  }
  if (devices.size() > 1 && choice.starts_with("MIG-")) return json::object();
  return devices.empty() ? json::object() : devices.front();
}

/// Of several threads not known where cores are of different kinds: the table has the fast one's.
double cpu_theory(const Ceiling& c, const specs::Microarchitecture& core, bool hybrid) {
  if (hybrid && c.threads > 1) return kUnknownNumber;
  const double per_cycle = c.resource == "compute" ? core.flops_per_cycle(c.dtype, c.exec_unit)
                           : c.resource == "bandwidth"
                               ? core.bytes_per_cycle(c.level, c.operation, c.exec_unit)
                               : kUnknownNumber;
  return per_cycle * c.clock_hz * c.threads;
}

/// By the chip's sheet, by its compute capability what that does not tell.
double flops_per_cycle_per_sm(const Ceiling& c, const specs::Chip* chip, const json& facts) {
  if (chip) {
    const specs::Peak* peak = chip->peak(c.dtype, c.exec_unit);
    if (peak && peak->flops_per_cycle_per_sm > 0) return peak->flops_per_cycle_per_sm;
  }
  const json capability = facts.value("compute_capability", json());
  const specs::GpuArchitecture* architecture =
      capability.is_string() ? specs::gpu_architecture(capability.get<std::string>()) : nullptr;
  return architecture ? architecture->flops_per_cycle_per_sm(c.dtype, c.exec_unit) : kUnknownNumber;
}

double gpu_theory(const Ceiling& c, const specs::Chip* chip, const json& facts) {
  if (c.resource == "bandwidth" && c.level == "HBM") {
    if (facts.value("mig", json()) == json(true)) return kUnknownNumber;  // a part of the bus
    const double clock =
        std::isnan(c.memory_clock_hz) ? number(facts, "memory_clock_max_hz") : c.memory_clock_hz;
    return 2 * clock * number(facts, "memory_bus_bits") / 8;
  }
  // What was seen comes first: a slice (MIG) has a part of the sheet's.
  const double sms = !std::isnan(c.gpu_sms)  ? c.gpu_sms
                     : chip && chip->sms > 0 ? chip->sms
                                             : kUnknownNumber;
  // 32 banks of 4 bytes an SM, for L1 hits and shared memory alike, on every chip since sm_70.
  if (c.resource == "bandwidth" && c.level == "L1" && c.operation == "read") {
    return 128 * sms * c.clock_hz;
  }
  if (c.resource != "compute") return kUnknownNumber;
  return flops_per_cycle_per_sm(c, chip, facts) * sms * c.clock_hz;
}

/// What the main memory of a whole machine is sold with: a guest, or a container with some of the
/// cores, has a share of it that nobody tells.
Advertised advertised_memory(const machine::Machine& machine) {
  const specs::SocketMemory* known = specs::socket_memory(machine.cpu_model);
  const json& facts = machine.facts;
  const json::json_pointer below("/state/hypervisor"), sockets("/cpu/sockets");
  if (!known || !facts.is_object() || !facts.contains(below) || !facts.contains(sockets)) return {};
  const bool whole = facts.at(below) == "none" && facts.at(sockets).is_number() &&
                     machine.usable_threads == machine.physical_cores;
  if (!whole) return {};
  return {facts.at(sockets).get<double>() * known->bytes_per_s, known->source};
}

}  // namespace

CeilingContext context_of(const machine::Machine& machine, const std::string& gpu) {
  const specs::Microarchitecture* core = specs::microarchitecture(machine.microarchitecture);
  const json facts = gpu_facts(machine.facts, gpu);
  const json name = facts.value("name", json());
  const specs::Chip* chip =
      name.is_string() ? specs::chip_of_device(name.get<std::string>()) : nullptr;
  CeilingContext context;
  context.machine = machine.name;
  if (name.is_string()) context.gpu = machine::plain_name(name.get<std::string>());
  context.caches = machine.caches;
  context.issue_per_cycle = issue_per_cycle(machine.microarchitecture);
  const json::json_pointer kinds("/cpu/core_kinds");
  const bool hybrid = machine.facts.is_object() && machine.facts.contains(kinds) &&
                      machine.facts.at(kinds).is_number() && machine.facts.at(kinds) > 1;
  context.theory = [core, chip, facts, hybrid](const Ceiling& c) {
    if (c.device == "gpu") return gpu_theory(c, chip, facts);
    return core ? cpu_theory(c, *core, hybrid) : kUnknownNumber;
  };
  context.advertised = [chip, memory = advertised_memory(machine),
                        threads = machine.usable_threads](const Ceiling& c) {
    Advertised out;
    if (c.device == "cpu" && c.resource == "bandwidth" && c.level == "DRAM" &&
        c.operation == "read" && c.threads == threads) {
      return memory;
    }
    if (c.device != "gpu" || !chip) return out;
    if (c.resource == "compute") {
      if (const specs::Peak* peak = chip->peak(c.dtype, c.exec_unit)) out.value = peak->advertised;
    } else if (c.resource == "bandwidth" && c.level == "HBM") {
      out.value = chip->bandwidth;
    } else if (c.resource == "link" && (c.operation == "h2d" || c.operation == "d2h")) {
      out.value = chip->pcie_one_way();
    }
    if (!std::isnan(out.value)) out.source = chip->source;
    return out;
  };
  return context;
}

double issue_per_cycle(const std::string& microarchitecture) {
  const specs::Microarchitecture* core = specs::microarchitecture(microarchitecture);
  // Multiplies go where scalar multiply-adds go, two FLOP each.
  return core ? core->flops_per_cycle("f32", "scalar") / 2 : kUnknownNumber;
}

std::vector<Ceiling> advertised_ceilings(const specs::Chip& chip) {
  std::vector<Ceiling> out;
  const auto add = [&](Ceiling row, double value) {
    if (std::isnan(value)) return;
    row.machine = chip.name;
    row.advertised = value;
    row.advertised_source = chip.source;
    out.push_back(std::move(row));
  };
  for (const specs::Peak& peak : chip.peaks) {
    Ceiling row;
    row.resource = "compute";
    row.operation = "peak";
    row.dtype = peak.dtype;
    row.exec_unit = peak.exec_unit;
    add(row, peak.advertised);
  }
  Ceiling memory;
  memory.resource = "bandwidth";
  memory.level = "HBM";
  memory.operation = "read";
  add(memory, chip.bandwidth);
  return out;
}

}  // namespace roofline
