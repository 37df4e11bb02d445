#include "roofline/run/run_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/run/gpu_choice.hpp"
#include "roofline/run/run_measure.hpp"

namespace roofline {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool of_gpu(const ListedBenchmark& entry) { return entry.device == "gpu"; }

std::vector<ListedBenchmark> list_all(const std::vector<fs::path>& programs,
                                      const RunSettings& settings, const std::string& device) {
  std::vector<ListedBenchmark> out;
  for (const fs::path& program : programs) {
    const Command command{
        .arguments = {program.string(),
                      std::string("--suite=") + (settings.full ? "full" : "quick"),
                      "--device=" + device, "--list"},
        .environment = child_environment(settings),
        .timeout_s = 60,
        .keep_output = true};
    const Outcome outcome = run_process(command);
    if (outcome.interrupted) throw BadInput("interrupted before anything was measured");
    if (!outcome.clean()) {
      throw BadInput(fmt::format("{} --list: {}", program.filename().string(),
                                 outcome.words(command.timeout_s)));
    }
    const auto listed = parse_list(outcome.output, program);
    out.insert(out.end(), listed.begin(), listed.end());
  }
  return out;
}

/// An error where the GPU was asked for, else a line.
void leave_gpu_out(const RunSettings& settings, const std::string& words,
                   std::vector<std::string>& notes) {
  if (settings.device == "gpu") throw BadInput("--device gpu: " + words);
  notes.push_back("GPU left out: " + words);
}

/// Whether CUDA has a GPU that one of the programs can use.
bool programs_have_gpu(const std::vector<fs::path>& programs, const RunSettings& settings) {
  const auto listed = list_all(programs, settings, "gpu");
  return std::any_of(listed.begin(), listed.end(), [](const ListedBenchmark& entry) {
    return of_gpu(entry) && entry.needs_missing.empty();
  });
}

}  // namespace

std::string usable_device(RunSettings& settings, const machine::Machine& machine,
                          const std::vector<fs::path>& programs, std::vector<std::string>& notes) {
  if (settings.device == "cpu") return "cpu";
  const json gpu = machine.facts.value("gpu", json::object());
  std::string words = "no GPU";
  if (gpu.value("status", "none") == "ok") {
    const GpuChoice choice = choose_gpu(gpu.at("devices"), machine::gpu_uuids(), settings.gpu,
                                        std::getenv("CUDA_VISIBLE_DEVICES"));
    if (choice.fault.empty()) {
      notes.insert(notes.end(), choice.notes.begin(), choice.notes.end());
      settings.gpu = choice.gpu;
      return settings.device;
    }
    if (!settings.gpu.empty()) throw BadInput(choice.fault);
    words = choice.fault;
  } else if (const json reason = gpu.value("reason", json()); reason.is_string()) {
    words = reason.get<std::string>();
  }
  if (gpu.value("status", "none") == "unusable" && programs_have_gpu(programs, settings)) {
    // Not kept in run.json, which may be sent to others: NVML would have told the index.
    if (settings.gpu.starts_with("GPU-")) {
      throw BadInput(fmt::format("--gpu {}: {}: give the GPU's index", settings.gpu, words));
    }
    notes.push_back(words + ": the GPU is measured without power, throttle reasons and trace");
    return settings.device;
  }
  leave_gpu_out(settings, words, notes);
  return "cpu";
}

std::vector<ListedBenchmark> list_programs(const std::vector<fs::path>& programs,
                                           const RunSettings& settings, const std::string& device,
                                           std::vector<std::string>& notes) {
  auto listed = list_all(programs, settings, device);
  if (device != "cpu" && std::none_of(listed.begin(), listed.end(), of_gpu)) {
    leave_gpu_out(settings, "these programs were built without nvcc, for CPUs only", notes);
  }
  return listed;
}

}  // namespace roofline
