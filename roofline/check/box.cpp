#include "roofline/check/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/statistics.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/results/run_folder.hpp"
#include "roofline/results/run_notes.hpp"
#include "roofline/results/unpacked.hpp"

namespace roofline::check {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json read_json(const fs::path& file) { return parse_json(read_text(file), file.string()); }

TraceFacts read_trace(const fs::path& file, const std::string& device) {
  TraceFacts out;
  if (!fs::exists(file)) return out;
  const CsvTable table = CsvTable::read(file);
  double stolen = 0;
  std::size_t told = 0;
  std::vector<double> memory_clocks;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (table.text(i, "device") != device) continue;
    if (const double steal = table.number(i, "steal"); !std::isnan(steal)) {
      stolen += steal;
      ++told;
    }
    const std::string& reasons = table.text(i, "throttle");
    if (reasons.empty()) continue;
    char* end = nullptr;
    out.throttle.push_back(std::strtoull(reasons.c_str(), &end, 16));
    if (*end != '\0') {
      throw BadInput(fmt::format("{}: column 'throttle': '{}' is not a hexadecimal number",
                                 table.where(i), reasons));
    }
    if (const double clock = table.number(i, "memory_clock_hz");
        !std::isnan(clock) && !(out.throttle.back() & kIdle)) {
      memory_clocks.push_back(clock);
    }
  }
  out.memory_clock_hz = median(std::move(memory_clocks));
  if (told > 0) out.steal = stolen / static_cast<double>(told);
  return out;
}

/// Names of the machine's GPUs.
std::vector<std::string> gpus_of(const Facts& machine) {
  std::vector<std::string> out(machine.size("/gpu/devices").value_or(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = machine.text(fmt::format("/gpu/devices/{}/name", i));
  }
  return out;
}

/// The device's name in trace.csv. That goes by NVML's index, which a device keeps where a cgroup
/// hides those before it; the position in machine.json is another then.
std::string trace_name(const Facts& gpu, std::size_t position) {
  const double told = gpu.number("/index");
  const std::size_t index = told >= 0 && told < 1e4 ? static_cast<std::size_t>(told) : position;
  return index == 0 ? "gpu" : fmt::format("gpu{}", index);
}

double sms_in(const fs::path& folder) {
  for (const fs::path& file : bench_files(folder)) {
    const json content = read_json(file);
    const json::json_pointer path("/context/gpu_sms");
    if (!content.contains(path)) continue;
    const json& sms = content.at(path);
    const double value = sms.is_string() ? std::atof(sms.get<std::string>().c_str()) : 0;
    if (value > 0) return value;
  }
  return kUnknownNumber;
}

}  // namespace

double TraceFacts::throttled(std::uint64_t reasons) const {
  std::size_t busy = 0, hit = 0;
  for (const std::uint64_t sample : throttle) {
    if (sample & kIdle) continue;
    ++busy;
    if (sample & reasons) ++hit;
  }
  return busy == 0 ? kUnknownNumber : static_cast<double>(hit) / static_cast<double>(busy);
}

bool Box::has(const std::string& device) const {
  return std::any_of(ceilings.begin(), ceilings.end(),
                     [&](const Ceiling& c) { return c.device == device; });
}

double Box::gpu_memory_clock_hz() const {
  return std::isnan(gpu_trace.memory_clock_hz) ? gpu.number("/memory_clock_max_hz")
                                               : gpu_trace.memory_clock_hz;
}

double sms_seen(const fs::path& folder) {
  if (!has_samples(folder)) return kUnknownNumber;
  std::optional<Unpacked> samples;
  try {
    samples.emplace(folder);
  } catch (const BadInput&) {
    return kUnknownNumber;
  }
  return samples->read(sms_in);
}

Box read_box(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw BadInput(fmt::format("{}: no such results folder", folder.string()));
  }
  const fs::path machine = folder / "machine.json";
  Box box;
  box.folder = folder.string();
  box.machine = Facts(read_json(machine), machine.string());
  box.ceilings = read_ceilings(folder / "ceilings.csv");
  box.cpu_trace = read_trace(folder / "trace.csv", "cpu");
  if (!box.has("gpu")) return box;
  box.gpus = gpus_of(box.machine);
  box.gpu_index = measured_gpu(folder, box.gpus.size());
  if (!box.gpu_index) return box;
  const std::size_t index = *box.gpu_index;
  const std::string pointer = fmt::format("/gpu/devices/{}", index);
  if (const json gpu = box.machine.at(pointer); !gpu.is_null()) {
    box.gpu = Facts(gpu, fmt::format("{}: gpu.devices[{}]", machine.string(), index));
    box.chip = specs::chip_of_device(box.gpu.text("/name"));
    box.capability = box.gpu.text("/compute_capability");
    if (box.capability.empty() && box.chip) box.capability = box.chip->compute_capability;
  }
  box.gpu_trace = read_trace(folder / "trace.csv", trace_name(box.gpu, index));
  return box;
}

}  // namespace roofline::check
