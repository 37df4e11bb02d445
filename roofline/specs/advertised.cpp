#include "roofline/specs/advertised.hpp"

#include <string>

#include "roofline/base/json_text.hpp"
#include "roofline/specs/specs.hpp"

namespace roofline {
namespace {

using nlohmann::json;

json per_core_cycle(const json& key) {
  const auto* found = key.is_string() ? specs::microarchitecture(key.get<std::string>()) : nullptr;
  if (!found) return nullptr;
  json compute = json::array(), levels = json::array();
  for (const auto& rate : found->compute) {
    compute.push_back({{"dtype", rate.dtype},
                       {"exec_unit", rate.exec_unit},
                       {"flops", rate.flops_per_cycle},
                       {"source", rate.source}});
  }
  for (const auto& rate : found->levels) {
    levels.push_back({{"level", rate.level},
                      {"operation", rate.operation},
                      {"exec_unit", rate.exec_unit},
                      {"bytes", rate.bytes_per_cycle},
                      {"source", rate.source}});
  }
  return {{"name", found->name}, {"compute", compute}, {"levels", levels}};
}

json of_gpu(const json& device) {
  const auto* chip = device.at("name").is_string()
                         ? specs::chip_of_device(device.at("name").get<std::string>())
                         : nullptr;
  if (!chip) return nullptr;
  json peaks = json::array();
  for (const auto& peak : chip->peaks) {
    peaks.push_back({{"dtype", peak.dtype},
                     {"exec_unit", peak.exec_unit},
                     {"flops_per_s", known(peak.advertised)}});
  }
  return {{"chip", chip->name},
          {"sms", chip->sms},
          {"memory_bytes", known(chip->memory_bytes)},
          {"bandwidth_bytes_per_s", known(chip->bandwidth)},
          {"peaks", peaks},
          {"source", chip->source}};
}

}  // namespace

void add_advertised(json& facts) {
  auto& cpu = facts.at("cpu");
  const auto& clock = cpu.at("base_clock_hz");
  const auto* memory = cpu.at("model").is_string()
                           ? specs::socket_memory(cpu.at("model").get<std::string>())
                           : nullptr;
  json& advertised = cpu["advertised"] = nullptr;
  if (!clock.is_null()) advertised = {{"base_clock_hz", clock}, {"source", "CPUID or the kernel"}};
  if (memory) {
    advertised["memory_bytes_per_s_per_socket"] = memory->bytes_per_s;
    advertised["memory_source"] = memory->source;
  }
  cpu["per_core_cycle"] = per_core_cycle(cpu.at("microarchitecture"));
  for (auto& device : facts.at("gpu").at("devices")) device["advertised"] = of_gpu(device);
}

}  // namespace roofline
