#include "roofline/specs/specs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "roofline/base/error.hpp"
#include "roofline/specs/data.hpp"

namespace roofline::specs {
namespace {

using nlohmann::json;

double number(const json& object, const char* key) {
  return object.contains(key) ? object.at(key).get<double>() : kUnknown;
}

std::string text(const json& object, const char* key) { return object.value(key, std::string()); }

Peak read_peak(const json& entry, const Chip& chip) {
  Peak peak;
  peak.dtype = entry.at("dtype");
  peak.exec_unit = entry.at("exec_unit");
  peak.advertised = number(entry, "advertised_flops_per_s");
  peak.flops_per_cycle_per_sm = number(entry, "flops_per_cycle_per_sm");
  const auto clock = text(entry, "clock");
  if (clock == "vector") peak.clock_hz = chip.vector_clock_hz;
  if (clock == "tensor") peak.clock_hz = chip.tensor_clock_hz;
  if (chip.sms > 0) peak.computed = chip.sms * peak.flops_per_cycle_per_sm * peak.clock_hz;
  peak.confidence = text(entry, "confidence");
  peak.note = text(entry, "note");
  return peak;
}

Chip read_chip(const std::string& name, const json& entry) {
  Chip chip;
  chip.name = name;
  chip.vendor = entry.at("vendor");
  chip.kind = entry.at("kind");
  chip.architecture = entry.at("architecture");
  chip.compute_capability = text(entry, "compute_capability");
  chip.aliases = entry.value("aliases", std::vector<std::string>());
  chip.device_names = entry.value("device_names", std::vector<std::string>());
  chip.sms = entry.value("sms", 0);
  chip.vector_clock_hz = number(entry, "vector_clock_hz");
  chip.tensor_clock_hz = number(entry, "tensor_clock_hz");
  for (const auto& peak : entry.at("peaks")) chip.peaks.push_back(read_peak(peak, chip));
  chip.memory_bytes = number(entry, "memory_bytes");
  chip.bandwidth = number(entry, "bandwidth_bytes_per_s");
  chip.memory_clock_hz = number(entry, "memory_clock_hz");
  chip.memory_bus_bits = entry.value("memory_bus_bits", 0);
  chip.memory_note = text(entry, "memory_note");
  chip.l2_bytes = number(entry, "l2_bytes");
  chip.shared_memory_per_sm_bytes = number(entry, "shared_memory_per_sm_bytes");
  for (const auto& link : entry.at("links")) {
    chip.links.push_back({link.at("kind"), number(link, "bytes_per_s_both_ways"),
                          number(link, "bytes_per_s_one_way"),
                          number(link, "bytes_per_s_one_way_per_link"), text(link, "confidence"),
                          text(link, "note")});
  }
  chip.source = entry.at("source");
  chip.note = text(entry, "note");
  chip.confidence = entry.value("confidence", json::object());
  return chip;
}

Microarchitecture read_microarchitecture(const std::string& key, const json& entry) {
  Microarchitecture result;
  result.key = key;
  result.name = entry.at("name");
  result.note = text(entry, "note");
  result.loads_and_stores_together = entry.value("loads_and_stores_together", false);
  for (const auto& rate : entry.at("compute")) {
    result.compute.push_back({rate.at("dtype"), rate.at("exec_unit"), rate.at("flops_per_cycle"),
                              rate.at("source"), text(rate, "note")});
  }
  for (const auto& rate : entry.at("levels")) {
    result.levels.push_back({rate.at("level"), rate.at("operation"), text(rate, "exec_unit"),
                             rate.at("bytes_per_cycle"), rate.at("source"), text(rate, "note")});
  }
  return result;
}

// Levenshtein's distance, for names typed wrong.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> near_names(std::string_view name) {
  constexpr std::size_t kMost = 5, kMostEdits = 3;
  const std::size_t most_edits = std::min(kMostEdits, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& chip : chips()) {
    const bool part = !name.empty() && (chip.name.find(name) != std::string::npos ||
                                        name.find(chip.name) != std::string_view::npos);
    const auto edits = part ? 0 : distance(name, chip.name);
    if (edits <= most_edits) found.emplace_back(edits, chip.name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  for (const auto& [edits, near] : found) {
    if (names.size() < kMost) names.push_back(near);
  }
  return names;
}

std::string_view spec_unit(std::string_view exec_unit) {
  if (exec_unit == "mma" || exec_unit == "wgmma" || exec_unit == "tcgen05") return "tensor";
  return exec_unit;
}

}  // namespace

double Chip::pcie_one_way() const {
  for (const Link& link : links) {
    if (link.kind == "pcie") return link.one_way;
  }
  return kUnknown;
}

const Peak* Chip::peak(std::string_view dtype, std::string_view exec_unit) const {
  const Peak* best = nullptr;
  for (const auto& peak : peaks) {
    if (peak.dtype != dtype) continue;
    if (!exec_unit.empty() && peak.exec_unit != spec_unit(exec_unit)) continue;
    if (!best || peak.advertised > best->advertised) best = &peak;
  }
  return best;
}

double GpuArchitecture::flops_per_cycle_per_sm(std::string_view dtype,
                                               std::string_view exec_unit) const {
  for (const auto& rate : rates) {
    if (rate.dtype == dtype && rate.exec_unit == spec_unit(exec_unit)) {
      return rate.flops_per_cycle_per_sm;
    }
  }
  return kUnknown;
}

double Microarchitecture::flops_per_cycle(std::string_view dtype,
                                          std::string_view exec_unit) const {
  for (const auto& rate : compute) {
    if (rate.dtype == dtype && rate.exec_unit == exec_unit) return rate.flops_per_cycle;
  }
  return kUnknown;
}

double Microarchitecture::bytes_per_cycle(std::string_view level, std::string_view operation,
                                          std::string_view exec_unit) const {
  const auto rate_of = [&](std::string_view of, std::string_view unit) {
    for (const auto& known : levels) {
      if (known.level == level && known.operation == of && known.exec_unit == unit)
        return known.bytes_per_cycle;
    }
    return kUnknown;
  };
  const auto rate = [&](std::string_view of) {
    const double own = rate_of(of, exec_unit);
    return std::isnan(own) ? rate_of(of, "") : own;
  };
  if (operation == "read" || operation == "write") return rate(operation);
  const double reads = operation == "copy" ? 1 : operation == "triad" ? 2 : kUnknown;
  if (level != "L1" || !loads_and_stores_together) return kUnknown;
  const double read_time = reads / rate("read"), write_time = 1 / rate("write");
  // std::max would drop a NaN on one side.
  if (!(read_time > 0) || !(write_time > 0)) return kUnknown;
  return (reads + 1) / std::max(read_time, write_time);
}

std::vector<Chip> parse_chips(std::string_view text) {
  std::vector<Chip> read;
  const auto table = json::parse(text);
  for (const auto& [name, entry] : table.at("chips").items()) {
    read.push_back(read_chip(name, entry));
  }
  return read;
}

std::vector<GpuArchitecture> parse_gpu_architectures(std::string_view text) {
  std::vector<GpuArchitecture> read;
  const auto table = json::parse(text);
  for (const auto& [capability, entry] : table.at("gpu_architectures").items()) {
    GpuArchitecture architecture{capability, {}, entry.at("source")};
    for (const auto& rate : entry.at("rates")) {
      Peak peak;
      peak.dtype = rate.at("dtype");
      peak.exec_unit = rate.at("exec_unit");
      peak.flops_per_cycle_per_sm = rate.at("flops_per_cycle_per_sm");
      architecture.rates.push_back(std::move(peak));
    }
    read.push_back(std::move(architecture));
  }
  return read;
}

const std::vector<GpuArchitecture>& gpu_architectures() {
  static const auto all = parse_gpu_architectures(kChipsJson);
  return all;
}

const GpuArchitecture* gpu_architecture(std::string_view compute_capability) {
  for (const auto& known : gpu_architectures()) {
    if (known.compute_capability == compute_capability) return &known;
  }
  return nullptr;
}

const std::vector<Chip>& chips() {
  static const auto all = parse_chips(kChipsJson);
  return all;
}

const Chip& chip(std::string_view name) {
  std::string wanted(name);
  for (char& c : wanted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto& known : chips()) {
    const auto& aliases = known.aliases;
    if (known.name == wanted ||
        std::find(aliases.begin(), aliases.end(), wanted) != aliases.end()) {
      return known;
    }
  }
  const auto near = near_names(wanted);
  if (near.empty()) {
    throw BadInput(fmt::format("unknown chip '{}'; `roofline specs` lists those known", name));
  }
  throw BadInput(fmt::format("unknown chip '{}'; near it: {}", name, fmt::join(near, ", ")));
}

const Chip* chip_of_device(std::string_view device_name) {
  for (const auto& known : chips()) {
    const auto& names = known.device_names;
    if (std::find(names.begin(), names.end(), device_name) != names.end()) return &known;
  }
  return nullptr;
}

std::vector<Microarchitecture> parse_microarchitectures(std::string_view text) {
  std::vector<Microarchitecture> read;
  const auto table = json::parse(text);
  for (const auto& [key, entry] : table.at("microarchitectures").items()) {
    read.push_back(read_microarchitecture(key, entry));
  }
  return read;
}

const std::vector<Microarchitecture>& microarchitectures() {
  static const auto all = parse_microarchitectures(kCpuJson);
  return all;
}

std::vector<SocketMemory> parse_socket_memory(std::string_view text) {
  std::vector<SocketMemory> read;
  const auto table = json::parse(text);
  for (const json& entry : table.at("memory")) {
    read.push_back({entry.at("model"), entry.at("bytes_per_s_per_socket"), entry.at("source")});
  }
  return read;
}

const SocketMemory* socket_memory(std::string_view cpu_model) {
  static const std::vector<SocketMemory> all = parse_socket_memory(kCpuJson);
  for (const SocketMemory& known : all) {
    if (std::regex_search(cpu_model.begin(), cpu_model.end(), std::regex(known.model)))
      return &known;
  }
  return nullptr;
}

const Microarchitecture* microarchitecture(std::string_view key) {
  for (const auto& known : microarchitectures()) {
    if (known.key == key) return &known;
  }
  return nullptr;
}

}  // namespace roofline::specs
