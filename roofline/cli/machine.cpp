// roofline machine: what the hardware is, its state and its limits.
#include "roofline/machine/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "roofline/base/json_text.hpp"
#include "roofline/cli/commands.hpp"
#include "roofline/specs/advertised.hpp"

namespace roofline::cli {
namespace {

using nlohmann::json;

std::string text(const json& value) {
  if (value.is_null()) return "unknown";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.dump();
}

std::string scaled(const json& value, double unit, const char* name, int digits = 1) {
  if (!value.is_number()) return "unknown";
  return fmt::format("{:.{}f} {}", value.get<double>() / unit, digits, name);
}

std::string cache_size(const json& bytes) {
  constexpr double kKiB = 1024, kMiB = 1048576;
  const auto value = bytes.get<double>();
  return value >= kMiB ? fmt::format("{:g} MiB", value / kMiB)
                       : fmt::format("{:g} KiB", value / kKiB);
}

void line(const std::string& label, const std::string& value) {
  fmt::print("{:<32}{}\n", label, value);
}

void print_per_core_cycle(const json& rates) {
  if (rates.is_null()) {
    line("per core and cycle", "unknown");
    return;
  }
  for (const auto& rate : rates.at("compute")) {
    line("per core and cycle", fmt::format("{} FLOP {} {}", rate.at("flops").get<double>(),
                                           text(rate.at("dtype")), text(rate.at("exec_unit"))));
  }
  for (const auto& rate : rates.at("levels")) {
    const std::string unit = rate.at("exec_unit").get<std::string>();
    line("per core and cycle",
         fmt::format("{} bytes {} {}{}{}", rate.at("bytes").get<double>(), text(rate.at("level")),
                     text(rate.at("operation")), unit.empty() ? "" : " ", unit));
  }
}

void print_cpu(const json& facts) {
  const auto& cpu = facts.at("cpu");
  const auto& usable = facts.at("usable");
  line("machine", text(facts.at("name")));
  line("CPU", text(cpu.at("model")));
  line("microarchitecture", text(cpu.at("microarchitecture")));
  line("cores", fmt::format("{} in {} sockets, {} logical CPUs; usable: {} cores, {} threads",
                            text(cpu.at("physical_cores")), text(cpu.at("sockets")),
                            text(cpu.at("logical_cpus")), usable.at("cpus").size(),
                            text(usable.at("threads"))));
  for (const auto& cache : facts.at("caches")) {
    line(fmt::format("L{} cache", text(cache.at("level"))),
         fmt::format("{}, cores sharing it: {}, in all {}", cache_size(cache.at("bytes")),
                     text(cache.at("cores_sharing")), cache_size(cache.at("total_bytes"))));
  }
  if (facts.at("caches").empty())
    line("caches", "unknown: levels between registers and memory are not told apart");
  const auto& memory = facts.at("memory");
  line("memory",
       fmt::format("{}, usable now {}, NUMA nodes: {}", scaled(memory.at("bytes"), 1e9, "GB"),
                   scaled(memory.at("usable_bytes"), 1e9, "GB"), memory.at("nodes").size()));
  std::vector<std::string> advertised;
  if (const auto& known = cpu.at("advertised"); !known.is_null()) {
    if (known.contains("base_clock_hz"))
      advertised.push_back("base clock " + scaled(known.at("base_clock_hz"), 1e9, "GHz", 2));
    if (known.contains("memory_bytes_per_s_per_socket"))
      advertised.push_back(
          "memory " + scaled(known.at("memory_bytes_per_s_per_socket"), 1e9, "GB/s") + " a socket");
  }
  line("advertised for the CPU", advertised.empty()
                                     ? "unknown (neither the machine nor a table tells)"
                                     : fmt::format("{}", fmt::join(advertised, ", ")));
  print_per_core_cycle(cpu.at("per_core_cycle"));
}

void print_limits(const json& limits) {
  const auto limit = [](const json& value, const std::string& shown) {
    return value.is_null() ? std::string("none") : shown;
  };
  const auto& cpuset = limits.at("cpuset");
  const auto& quota = limits.at("cpu_quota_cores");
  const auto& memory = limits.at("memory_limit_bytes");
  line("container limits",
       fmt::format("cpuset {}, CPU quota {}, memory {}",
                   limit(cpuset, fmt::format("of {} CPUs", cpuset.size())),
                   limit(quota, text(quota) + " cores"), limit(memory, scaled(memory, 1e9, "GB"))));
}

void print_gpus(const json& gpu) {
  if (gpu.at("status") != "ok") {
    line("GPU", "no GPU: " + text(gpu.at("reason")));
    return;
  }
  line("GPU driver", fmt::format("{} (CUDA {})", text(gpu.at("driver_version")),
                                 text(gpu.at("cuda_driver_version"))));
  for (const auto& device : gpu.at("devices")) {
    const auto label = fmt::format("GPU {}", text(device.at("index")));
    line(label, fmt::format("{}, {}", text(device.at("name")),
                            scaled(device.at("memory_bytes"), 1e9, "GB")));
    for (const auto& [name, value] : device.items()) {
      if (name == "index" || name == "name" || name == "advertised") continue;
      line(fmt::format("{} {}", label, name), text(value));
    }
    const auto& advertised = device.at("advertised");
    line(label + " advertised",
         advertised.is_null()
             ? "unknown"
             : fmt::format("{}: {} SMs, {}, {}; `roofline specs {}` has the peaks",
                           text(advertised.at("chip")), text(advertised.at("sms")),
                           scaled(advertised.at("memory_bytes"), 1e9, "GB", 0),
                           scaled(advertised.at("bandwidth_bytes_per_s"), 1e12, "TB/s", 3),
                           text(advertised.at("chip"))));
  }
}

void print_machine(const json& facts) {
  print_cpu(facts);
  print_limits(facts.at("limits"));
  for (const auto& [name, value] : facts.at("state").items()) line(name, text(value));
  for (const auto& fault : facts.at("disagreements")) line("sources disagree", text(fault));
  print_gpus(facts.at("gpu"));
}

}  // namespace

void add_machine(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("machine", "What this machine is, its state and its limits");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print the facts as JSON");
  command->callback([as_json, &exit_code] {
    auto facts = machine::probe().facts;
    add_advertised(facts);
    if (*as_json) {
      fmt::print("{}\n", json_text(facts));
    } else {
      print_machine(facts);
    }
    exit_code = 0;
  });
}

}  // namespace roofline::cli
