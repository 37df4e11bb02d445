// roofline specs [NAME]: the chips' advertised figures and where they come from.
#include "roofline/specs/specs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "roofline/base/json_text.hpp"
#include "roofline/cli/commands.hpp"
#include "roofline/model.hpp"

namespace roofline::cli {
namespace {

using nlohmann::json;

json as_json(const specs::Peak& peak, const specs::Chip& chip) {
  return {{"dtype", peak.dtype},
          {"exec_unit", peak.exec_unit},
          {"advertised_flops_per_s", known(peak.advertised)},
          {"computed_flops_per_s", known(peak.computed)},
          {"flops_per_cycle_per_sm", known(peak.flops_per_cycle_per_sm)},
          {"clock_hz", known(peak.clock_hz)},
          {"ridge_intensity", known(ridge_intensity(peak.advertised, chip.bandwidth))},
          {"confidence", known(peak.confidence)},
          {"note", known(peak.note)}};
}

json as_json(const specs::Link& link) {
  return {{"kind", link.kind},
          {"bytes_per_s_both_ways", known(link.both_ways)},
          {"bytes_per_s_one_way", known(link.one_way)},
          {"bytes_per_s_one_way_per_link", known(link.one_way_per_link)},
          {"confidence", known(link.confidence)},
          {"note", known(link.note)}};
}

json as_json(const specs::Chip& chip) {
  json peaks = json::array(), links = json::array();
  for (const auto& peak : chip.peaks) peaks.push_back(as_json(peak, chip));
  for (const auto& link : chip.links) links.push_back(as_json(link));
  return {
      {"name", chip.name},
      {"aliases", chip.aliases},
      {"vendor", chip.vendor},
      {"kind", chip.kind},
      {"architecture", chip.architecture},
      {"compute_capability", known(chip.compute_capability)},
      {"device_names", chip.device_names},
      {"sms", chip.sms > 0 ? json(chip.sms) : json(nullptr)},
      {"vector_clock_hz", known(chip.vector_clock_hz)},
      {"tensor_clock_hz", known(chip.tensor_clock_hz)},
      {"peaks", peaks},
      {"memory_bytes", known(chip.memory_bytes)},
      {"bandwidth_bytes_per_s", known(chip.bandwidth)},
      {"memory_clock_hz", known(chip.memory_clock_hz)},
      {"memory_bus_bits", chip.memory_bus_bits > 0 ? json(chip.memory_bus_bits) : json(nullptr)},
      {"memory_note", known(chip.memory_note)},
      {"l2_bytes", known(chip.l2_bytes)},
      {"shared_memory_per_sm_bytes", known(chip.shared_memory_per_sm_bytes)},
      {"links", links},
      {"confidence", chip.confidence},
      {"note", known(chip.note)},
      {"source", chip.source}};
}

std::string scaled(double value, double unit, const char* name, int digits = 1) {
  return std::isfinite(value) ? fmt::format("{:.{}f} {}", value / unit, digits, name) : "unknown";
}

std::string mark(const specs::Chip& chip, const char* field) {
  const auto confidence = chip.confidence.value(field, std::string());
  return confidence.empty() ? "" : " (" + confidence + ")";
}

void print_list() {
  fmt::print("{:<16}{:<9}{:>14}{:>14}{:>16}{:>12}\n", "chip", "vendor", "bf16 TFLOP/s",
             "f32 TFLOP/s", "memory TB/s", "ridge bf16");
  const auto cell = [](double value, double unit, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value / unit, digits) : std::string("-");
  };
  for (const auto& chip : specs::chips()) {
    const auto* bf16 = chip.peak("bf16");
    const auto* f32 = chip.peak("f32");
    const double peak = bf16 ? bf16->advertised : specs::kUnknown;
    fmt::print("{:<16}{:<9}{:>14}{:>14}{:>16}{:>12}\n", chip.name, chip.vendor, cell(peak, 1e12, 1),
               cell(f32 ? f32->advertised : specs::kUnknown, 1e12, 1),
               cell(chip.bandwidth, 1e12, 3), cell(ridge_intensity(peak, chip.bandwidth), 1, 1));
  }
}

void print_peaks(const specs::Chip& chip) {
  fmt::print("\n{:<8}{:<11}{:>16}{:>18}{:>11}{:>16}\n", "dtype", "unit", "TFLOP/s", "by the clock",
             "MHz", "ridge FLOP/B");
  for (const auto& peak : chip.peaks) {
    const auto cell = [](double value, double unit, int digits) {
      return std::isfinite(value) ? fmt::format("{:.{}f}", value / unit, digits) : std::string("-");
    };
    std::string remark = peak.confidence;
    if (!peak.note.empty()) remark += (remark.empty() ? "" : "; ") + peak.note;
    fmt::print("{:<8}{:<11}{:>16}{:>18}{:>11}{:>16}{}{}\n", peak.dtype, peak.exec_unit,
               cell(peak.advertised, 1e12, 2), cell(peak.computed, 1e12, 2),
               cell(peak.clock_hz, 1e6, 0),
               cell(ridge_intensity(peak.advertised, chip.bandwidth), 1, 1),
               remark.empty() ? "" : "  ", remark);
  }
}

void print_chip(const specs::Chip& chip) {
  const auto line = [](const char* label, const std::string& value) {
    fmt::print("{:<22}{}\n", label, value);
  };
  line("chip", fmt::format("{} ({}, {})", chip.name, chip.vendor, chip.architecture));
  if (chip.sms > 0) {
    line("SMs", fmt::format("{}{}", chip.sms, mark(chip, "sms")));
    line("clock, vector units",
         scaled(chip.vector_clock_hz, 1e6, "MHz", 0) + mark(chip, "vector_clock_hz"));
    line("clock, tensor units",
         scaled(chip.tensor_clock_hz, 1e6, "MHz", 0) + mark(chip, "tensor_clock_hz"));
  }
  line("memory", scaled(chip.memory_bytes, 1e9, "GB"));
  line("memory bandwidth", scaled(chip.bandwidth, 1e12, "TB/s", 3) +
                               mark(chip, "bandwidth_bytes_per_s") +
                               (chip.memory_note.empty() ? "" : "; " + chip.memory_note));
  if (std::isfinite(chip.l2_bytes)) {
    line("L2", scaled(chip.l2_bytes, 1e6, "MB", 0) + mark(chip, "l2_bytes"));
    line("shared memory per SM", scaled(chip.shared_memory_per_sm_bytes, 1024, "KiB", 0) +
                                     mark(chip, "shared_memory_per_sm_bytes"));
  }
  for (const auto& link : chip.links) {
    line(("link " + link.kind).c_str(),
         scaled(link.both_ways, 1e9, "GB/s both ways", 0) +
             (link.confidence.empty() ? "" : " (" + link.confidence + ")") +
             (link.note.empty() ? "" : "; " + link.note));
  }
  if (!chip.note.empty()) line("note", chip.note);
  line("source", chip.source);
  print_peaks(chip);
}

}  // namespace

void add_specs(CLI::App& app, int& exit_code) {
  struct Options {
    std::string name;
    bool as_json = false;
  };
  auto* command = app.add_subcommand("specs", "What chips are advertised to do, with sources");
  const auto options = std::make_shared<Options>();
  command->add_option("NAME", options->name, "A chip, such as h100-sxm or tpu-v5e; without: all");
  command->add_flag("--json", options->as_json, "Print the facts as JSON");
  command->callback([options, named = command->get_option("NAME"), &exit_code] {
    if (options->as_json && named->count() == 0) {
      json all = json::array();
      for (const auto& chip : specs::chips()) all.push_back(as_json(chip));
      fmt::print("{}\n", json_text(all));
    } else if (options->as_json) {
      fmt::print("{}\n", json_text(as_json(specs::chip(options->name))));
    } else if (named->count() == 0) {
      print_list();
    } else {
      print_chip(specs::chip(options->name));
    }
    exit_code = 0;
  });
}

}  // namespace roofline::cli
