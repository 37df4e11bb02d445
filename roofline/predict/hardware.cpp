#include "roofline/predict/hardware.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/ceilings/roofs.hpp"
#include "roofline/results/benchmark.hpp"
#include "roofline/results/run_notes.hpp"
#include "roofline/specs/specs.hpp"

namespace roofline::predict {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool reads_main_memory(const Ceiling& c) {
  return c.resource == "bandwidth" && c.operation == "read" && is_main_memory(c.level);
}

/// NaN where machine.json is missing or does not say.
double memory_of(const fs::path& folder, const std::string& device) {
  const fs::path path = folder / "machine.json";
  std::error_code fault;
  if (!fs::exists(path, fault)) return kUnknownNumber;
  const json facts = parse_json(read_text(path), path.string());
  const auto number = [&](const std::string& pointer) {
    const json::json_pointer at(pointer);
    return facts.contains(at) && facts.at(at).is_number() ? facts.at(at).get<double>()
                                                          : kUnknownNumber;
  };
  if (device == "gpu") {
    const json::json_pointer devices("/gpu/devices");
    const std::size_t gpus = facts.contains(devices) ? facts.at(devices).size() : 0;
    const auto index = measured_gpu(folder, gpus);
    return index ? number(fmt::format("/gpu/devices/{}/memory_bytes", *index)) : kUnknownNumber;
  }
  const double usable = number("/memory/usable_bytes");
  return usable > 0 ? usable : number("/memory/bytes");
}

/// The narrowest type of larger elements that holds every value of this one; empty if none is
/// common.
std::string next_wider(const std::string& dtype) {
  if (dtype == "s4") return "s8";
  if (dtype == "u4") return "u8";
  if (dtype == "s8" || dtype == "u8" || dtype == "e4m3" || dtype == "e5m2") return "bf16";
  if (dtype == "bf16" || dtype == "f16" || dtype == "tf32") return "f32";
  return "";
}

std::vector<std::string> distinct(const Hardware& hardware, std::string Ceiling::*field) {
  std::vector<std::string> names;
  for (const Ceiling& c : hardware.ceilings) {
    if (c.resource == "compute" && std::find(names.begin(), names.end(), c.*field) == names.end()) {
      names.push_back(c.*field);
    }
  }
  return names;
}

const Ceiling* fastest(const Hardware& hardware, const std::string& dtype, const auto& accepts) {
  const Ceiling* best = nullptr;
  for (const Ceiling& c : hardware.ceilings) {
    if (c.resource == "compute" && c.dtype == dtype && accepts(c) &&
        (!best || is_better_roof(c, *best))) {
      best = &c;
    }
  }
  return best;
}

const Ceiling* peak_of(const Hardware& hardware, const ComputeChoice& choice,
                       const std::string& dtype, bool vector_only) {
  return fastest(hardware, dtype, [&](const Ceiling& c) {
    return (choice.exec_unit.empty() || c.exec_unit == choice.exec_unit) &&
           !(vector_only && is_matrix_unit(c.exec_unit));
  });
}

/// Of one type the narrowest that there is, or of the two operands as they are: the higher.
const Ceiling* find_peak(const Hardware& hardware, const ComputeChoice& choice, bool vector_only) {
  if (choice.dtype_chosen) return peak_of(hardware, choice, choice.dtype, vector_only);
  const Ceiling* found = nullptr;
  for (std::string dtype = choice.dtype; !found && !dtype.empty(); dtype = next_wider(dtype)) {
    found = peak_of(hardware, choice, dtype, vector_only);
  }
  if (choice.mixed.empty()) return found;
  const Ceiling* mixed = peak_of(hardware, choice, choice.mixed, vector_only);
  return !found || (mixed && mixed->value() > found->value()) ? mixed : found;
}

void note_doubt(const Ceiling& ceiling, std::vector<std::string>& notes) {
  if (ceiling.verdict != "ok") {
    notes.push_back(fmt::format("the {} is in doubt: {}",
                                ceiling.resource == "compute"
                                    ? fmt::format("{} peak", ceiling.dtype)
                                    : fmt::format("{} bandwidth", ceiling.level),
                                ceiling.verdict));
  }
}

void take_peak(const Hardware& hardware, const ComputeChoice& choice, Roofs& out) {
  const bool vector_only = choice.vector_unit && choice.exec_unit.empty();
  const Ceiling* found = find_peak(hardware, choice, vector_only);
  if (!found && vector_only) {
    found = find_peak(hardware, choice, false);
    if (found) {
      out.notes.push_back(fmt::format("no vector peak of {} is known: held against its {} unit",
                                      hardware.name, found->exec_unit));
    }
  }
  if (!found) {
    const std::string unit =
        choice.exec_unit.empty() ? "" : fmt::format(" on unit '{}'", choice.exec_unit);
    const auto dtypes = distinct(hardware, &Ceiling::dtype);
    const std::string others =
        dtypes.empty() ? ": none of any type is known (give --peak)"
                       : fmt::format("; it has {} on {} (or give --peak)", fmt::join(dtypes, ", "),
                                     fmt::join(distinct(hardware, &Ceiling::exec_unit), ", "));
    throw BadInput(fmt::format("{} has no {} peak{}{}", hardware.name, choice.dtype, unit, others));
  }
  if (found->dtype != choice.dtype && found->dtype != choice.mixed) {
    out.notes.push_back(fmt::format("no {} peak: computed in {}", choice.dtype, found->dtype));
  }
  note_doubt(*found, out.notes);
  out.peak = found->value();
  out.dtype = found->dtype;
  out.exec_unit = found->exec_unit;
}

}  // namespace

Hardware chip_hardware(std::string_view name) {
  const specs::Chip& chip = specs::chip(name);
  Hardware out;
  out.name = chip.name;
  out.ceilings = advertised_ceilings(chip);
  out.memory_bytes = chip.memory_bytes;
  if (!chip.links.empty()) {
    const specs::Link& link = chip.links.front();  // the fastest one is listed first
    const bool torus = !std::isnan(link.one_way_per_link);
    out.link_one_way = torus ? link.one_way_per_link : link.one_way;
    out.link_axis = torus ? 2 * link.one_way_per_link : link.one_way;
  }
  return out;
}

Hardware machine_hardware(const fs::path& path, std::string_view device) {
  std::error_code fault;
  const fs::path file = fs::is_directory(path, fault) ? path / "ceilings.csv" : path;
  const std::vector<Ceiling> all = read_ceilings(file);
  Hardware out;
  out.measured = true;
  out.device = device;
  if (out.device.empty()) {
    const bool gpu = std::any_of(all.begin(), all.end(), [](const Ceiling& c) {
      return c.device == "gpu" && c.resource == "compute";
    });
    out.device = gpu ? "gpu" : "cpu";
  }
  out.threads = most_threads(all, out.device);
  for (const Ceiling& c : all) {
    if (c.device == out.device && !std::isnan(c.measured) && limits(all, c) &&
        (c.device == "gpu" || c.threads == out.threads) &&
        (c.resource == "compute" || reads_main_memory(c))) {
      out.ceilings.push_back(c);
    }
  }
  if (out.ceilings.empty()) {
    throw BadInput(fmt::format("{}: no measured peak or main memory of device '{}'", file.string(),
                               out.device));
  }
  out.name = out.ceilings.front().machine;
  out.launch_s = launch_time(all, out.device);
  out.memory_bytes = memory_of(file.parent_path(), out.device);
  return out;
}

Roofs roofs(const Hardware& hardware, const ComputeChoice& choice, double peak, double bandwidth) {
  Roofs out;
  out.peak = peak;
  out.dtype = choice.dtype;
  out.launch_s = hardware.launch_s;
  if (std::isnan(peak)) take_peak(hardware, choice, out);
  const Ceiling* memory = nullptr;
  for (const Ceiling& c : hardware.ceilings) {
    if (reads_main_memory(c) && (!memory || is_better_roof(c, *memory))) memory = &c;
  }
  if (memory) {
    out.level = memory->level;
  } else if (hardware.device == "cpu") {
    out.level = "DRAM";
  }
  out.bandwidth = bandwidth;
  if (std::isnan(bandwidth)) {
    if (!memory) {
      throw BadInput(fmt::format("{}: no bandwidth of DRAM or HBM is known (give --bandwidth)",
                                 hardware.name));
    }
    note_doubt(*memory, out.notes);
    out.bandwidth = memory->value();
  }
  return out;
}

}  // namespace roofline::predict
