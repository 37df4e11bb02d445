// roofline machine: what the hardware is, its state and its limits.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "roofline/cli/commands.hpp"
#include "roofline/machine/machine.hpp"

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

std::string gib(const json& bytes) {
  if (!bytes.is_number()) return "unknown";
  return fmt::format("{:.1f} GB", bytes.get<double>() / 1e9);
}

std::string cache_size(std::int64_t bytes) {
  constexpr std::int64_t kMiB = 1 << 20;
  return bytes >= kMiB ? fmt::format("{:g} MiB", static_cast<double>(bytes) / kMiB)
                       : fmt::format("{:g} KiB", static_cast<double>(bytes) / 1024);
}

void line(const std::string& label, const std::string& value) {
  fmt::print("{:<24}{}\n", label, value);
}

void print_cpu(const machine::Machine& m) {
  const auto& cpu = m.facts.at("cpu");
  line("machine", m.name);
  line("CPU", text(cpu.at("model")));
  line("microarchitecture", text(cpu.at("microarchitecture")));
  line("cores", fmt::format("{} on the host ({} logical CPUs, {} sockets), {} usable, {} threads",
                            text(cpu.at("physical_cores")), text(cpu.at("logical_cpus")),
                            text(cpu.at("sockets")), m.cpus.size(), m.usable_threads));
  for (const auto& cache : m.caches) {
    line(fmt::format("L{} cache", cache.level),
         fmt::format("{} shared by {} cores, {} in all", cache_size(cache.bytes),
                     cache.cores_sharing, cache_size(cache.total_bytes)));
  }
  const auto& memory = m.facts.at("memory");
  line("memory", fmt::format("{}, usable {}, {} NUMA nodes", gib(memory.at("bytes")),
                             gib(memory.at("usable_bytes")), memory.at("nodes").size()));
}

void print_limits(const json& limits) {
  line("container limits",
       fmt::format("cpuset {}, CPU quota {}, memory {}",
                   limits.at("cpuset").is_null()
                       ? "none"
                       : fmt::format("of {} CPUs", limits.at("cpuset").size()),
                   limits.at("cpu_quota_cores").is_null()
                       ? "none"
                       : fmt::format("{:g} cores", limits.at("cpu_quota_cores").get<double>()),
                   limits.at("memory_limit_bytes").is_null()
                       ? "none"
                       : gib(limits.at("memory_limit_bytes"))));
}

void print_gpus(const json& gpu) {
  if (gpu.at("status") != "ok") {
    line("GPU", "no GPU: " + text(gpu.at("reason")));
    return;
  }
  line("GPU driver", fmt::format("{} (CUDA {})", text(gpu.at("driver_version")),
                                 text(gpu.at("cuda_driver_version"))));
  for (const auto& device : gpu.at("devices")) {
    line(fmt::format("GPU {}", text(device.at("index"))),
         fmt::format("{}, {}", text(device.at("name")), gib(device.at("memory_bytes"))));
  }
}

void print_machine(const machine::Machine& m) {
  print_cpu(m);
  print_limits(m.facts.at("limits"));
  for (const auto& [name, value] : m.facts.at("state").items()) line(name, text(value));
  for (const auto& fault : m.facts.at("disagreements")) line("sources disagree", text(fault));
  print_gpus(m.facts.at("gpu"));
}

}  // namespace

void add_machine(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("machine", "What this machine is, its state and its limits");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print the facts as JSON");
  command->callback([as_json, &exit_code] {
    const auto machine = machine::probe();
    if (*as_json) {
      fmt::print("{}\n", machine.facts.dump(2));
    } else {
      print_machine(machine);
    }
    exit_code = 0;
  });
}

}  // namespace roofline::cli
