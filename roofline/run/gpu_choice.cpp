#include "roofline/run/gpu_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofline {
namespace {

using nlohmann::json;

std::string name_of(const json& device) {
  const json name = device.value("name", json());
  return name.is_string() ? name.get<std::string>() : "name not known";
}

/// "0 (NVIDIA H100 80GB HBM3), 1 (…)"
std::string all_of(const json& devices) {
  std::string out;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    out += fmt::format("{}{} ({})", i > 0 ? ", " : "", i, name_of(devices[i]));
  }
  return out;
}

}  // namespace

bool is_gpu_uuid(std::string_view text) {
  constexpr std::size_t kStart = 4;
  return (text.starts_with("GPU-") || text.starts_with("MIG-")) && text.size() > kStart &&
         text.find_first_not_of("0123456789abcdefABCDEF-", kStart) == std::string_view::npos;
}

GpuChoice choose_gpu(const json& devices, const std::vector<std::string>& uuids,
                     const std::string& asked, const char* visible) {
  const bool inherited = asked.empty() && visible;
  const std::string list = inherited ? visible : asked.empty() ? "0" : asked;
  const std::string gpu = list.substr(0, list.find(','));
  if (gpu.starts_with("MIG-")) {  // NVML lists no slices; CUDA finds it or not
    return {.gpu = gpu,
            .notes = {"a slice (MIG) is measured: what is advertised is the whole chip's"}};
  }
  std::size_t index = devices.size();
  if (is_gpu_index(gpu)) {
    index = std::stoul(gpu);
  } else if (gpu.starts_with("GPU-")) {
    const auto found = std::find_if(uuids.begin(), uuids.end(),
                                    [&](const std::string& uuid) { return uuid.starts_with(gpu); });
    if (found != uuids.end()) index = static_cast<std::size_t>(found - uuids.begin());
  }
  if (index >= devices.size()) {
    return {.fault =
                fmt::format("{}{}: no such GPU; here: {}",
                            inherited ? "CUDA_VISIBLE_DEVICES=" : "--gpu ", list, all_of(devices))};
  }

  GpuChoice choice{.gpu = std::to_string(index)};
  if (devices.size() > 1 && asked.empty()) {
    choice.notes.push_back(fmt::format("{} GPUs: measuring {} ({}); --gpu picks another",
                                       devices.size(), index, name_of(devices[index])));
  }
  if (devices[index].value("mig", json()) == json(true)) {
    choice.notes.push_back(
        fmt::format("GPU {} is cut into slices (MIG): one is measured, what is advertised is the "
                    "whole chip's; --gpu MIG-<UUID> picks one",
                    index));
  }
  return choice;
}

}  // namespace roofline
