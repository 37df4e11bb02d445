#include "roofline/machine/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "roofline/machine/nvml.hpp"

namespace roofline::machine {
namespace {

using nlohmann::json;

using Device = Nvml::Device;

template <class T>
json known(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json scaled(const std::optional<unsigned>& value, double factor) {
  return value ? json(*value * factor) : json(nullptr);
}

std::string text_query(const Nvml& nvml, const char* name, Device device) {
  char text[96] = {};
  nvml.call(name, device, text, unsigned{sizeof text - 1});
  return text;
}

// How many processes hold a context there, this one not counted only if it has none yet.
json processes(const Nvml& nvml, Device device) {
  unsigned sum = 0;
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"}) {
    unsigned count = 0;
    const int code = nvml.call(name, device, &count, static_cast<void*>(nullptr));
    if (code != Nvml::kSuccess && code != Nvml::kInsufficientSize) return nullptr;
    sum += count;
  }
  return sum;
}

json read_device(const Nvml& nvml, unsigned index, Device device) {
  json gpu;
  gpu["index"] = index;
  const auto name = text_query(nvml, "nvmlDeviceGetName", device);
  gpu["name"] = name.empty() ? json(nullptr) : json(name);
  int major = 0, minor = 0;
  const int capability = nvml.call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor);
  gpu["compute_capability"] =
      capability == Nvml::kSuccess ? json(fmt::format("{}.{}", major, minor)) : json(nullptr);
  Nvml::Memory memory{};
  const bool has_memory = nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) == Nvml::kSuccess;
  gpu["memory_bytes"] = has_memory ? json(memory.total) : json(nullptr);
  gpu["memory_free_bytes"] = has_memory ? json(memory.free) : json(nullptr);
  gpu["memory_bus_bits"] = known(nvml.get<unsigned>("nvmlDeviceGetMemoryBusWidth", device));
  const auto clock = [&](const char* query, unsigned which) {
    return scaled(nvml.get(query, device, which), 1e6);
  };
  gpu["sm_clock_max_hz"] = clock("nvmlDeviceGetMaxClockInfo", Nvml::kClockSm);
  gpu["memory_clock_max_hz"] = clock("nvmlDeviceGetMaxClockInfo", Nvml::kClockMemory);
  gpu["sm_clock_now_hz"] = clock("nvmlDeviceGetClockInfo", Nvml::kClockSm);
  gpu["memory_clock_now_hz"] = clock("nvmlDeviceGetClockInfo", Nvml::kClockMemory);
  const auto watts = [&](const char* query) {
    return scaled(nvml.get<unsigned>(query, device), 1e-3);
  };
  gpu["application_clock_hz"] = clock("nvmlDeviceGetApplicationsClock", Nvml::kClockSm);
  gpu["application_clock_default_hz"] =
      clock("nvmlDeviceGetDefaultApplicationsClock", Nvml::kClockSm);
  gpu["power_limit_w"] = watts("nvmlDeviceGetEnforcedPowerLimit");
  gpu["power_limit_default_w"] = watts("nvmlDeviceGetPowerManagementDefaultLimit");
  gpu["power_now_w"] = watts("nvmlDeviceGetPowerUsage");
  gpu["temperature_c"] = known(nvml.get("nvmlDeviceGetTemperature", device, 0));
  gpu["throttle_reasons"] =
      known(nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device));
  unsigned now = 0, pending = 0;
  const auto pair = [&](const char* query) {
    const int code = nvml.call(query, device, &now, &pending);
    return code == Nvml::kSuccess ? json(now != 0) : json(nullptr);
  };
  gpu["ecc"] = pair("nvmlDeviceGetEccMode");
  gpu["mig"] = pair("nvmlDeviceGetMigMode");
  gpu["persistence"] = known(nvml.get<unsigned>("nvmlDeviceGetPersistenceMode", device));
  gpu["virtualisation"] = nullptr;
  if (const auto mode = nvml.get<unsigned>("nvmlDeviceGetVirtualizationMode", device)) {
    constexpr const char* kModes[] = {"none", "passthrough", "vgpu", "vgpu-host", "vsga-host"};
    gpu["virtualisation"] = kModes[std::min(*mode, 4u)];
  }
  unsigned correctable = 0, uncorrectable = 0, waiting = 0, failed = 0;
  const bool remaps = nvml.call("nvmlDeviceGetRemappedRows", device, &correctable, &uncorrectable,
                                &waiting, &failed) == Nvml::kSuccess;
  gpu["remapped_rows_uncorrectable"] = remaps ? json(uncorrectable) : json(nullptr);
  gpu["remapping_failed"] = remaps ? json(failed != 0) : json(nullptr);
  gpu["pcie_generation"] = known(nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkGeneration", device));
  // nvmlDeviceGetMaxPcieLinkGeneration is the lower of the board's and the slot's.
  gpu["pcie_generation_max"] =
      known(nvml.get<unsigned>("nvmlDeviceGetGpuMaxPcieLinkGeneration", device));
  if (gpu["pcie_generation_max"].is_null()) {
    gpu["pcie_generation_max"] =
        known(nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", device));
  }
  gpu["pcie_width"] = known(nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkWidth", device));
  gpu["pcie_width_max"] = known(nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", device));
  gpu["processes"] = processes(nvml, device);
  return gpu;
}

/// Those that this process may look at, with their indices.
std::vector<std::pair<unsigned, Device>> devices_of(const Nvml& nvml) {
  std::vector<std::pair<unsigned, Device>> out;
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const int code = nvml.call("nvmlDeviceGetHandleByIndex_v2", index, &device);
    if (code == Nvml::kSuccess) out.emplace_back(index, device);
  }
  return out;
}

json without(const char* status, const std::string& reason) {
  return {{"status", status},
          {"reason", reason},
          {"driver_version", nullptr},
          {"cuda_driver_version", nullptr},
          {"devices", json::array()}};
}

}  // namespace

json read_gpus(const char* library, const std::filesystem::path& root) {
  Nvml nvml(library);
  if (!nvml.loaded()) {
    std::error_code error;
    if (std::filesystem::exists(root / "dev/nvidiactl", error) ||
        std::filesystem::exists(root / "proc/driver/nvidia/version", error)) {
      return without("unusable",
                     fmt::format("NVIDIA driver in the kernel, but {} is not found", library));
    }
    return without("none", "no NVIDIA driver");
  }
  if (const auto fault = nvml.start(); !fault.empty()) {
    return without("unusable", "NVIDIA driver present but unusable: " + fault);
  }
  json gpus = without("ok", "");
  gpus["reason"] = nullptr;
  char version[96] = {};
  if (nvml.call("nvmlSystemGetDriverVersion", version, unsigned{sizeof version - 1}) ==
      Nvml::kSuccess) {
    gpus["driver_version"] = version;
  }
  int cuda = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) == Nvml::kSuccess) {
    gpus["cuda_driver_version"] = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
  for (const auto& [index, device] : devices_of(nvml)) {
    gpus["devices"].push_back(read_device(nvml, index, device));
  }
  if (gpus["devices"].empty()) return without("none", "NVIDIA driver present, but no GPU");
  return gpus;
}

std::vector<std::string> gpu_uuids(const char* library) {
  std::vector<std::string> out;
  Nvml nvml(library);
  if (!nvml.loaded() || !nvml.start().empty()) return out;
  for (const auto& [index, device] : devices_of(nvml)) {
    out.push_back(text_query(nvml, "nvmlDeviceGetUUID", device));
  }
  return out;
}

struct GpuWatch::Driver {
  Nvml nvml;
  std::vector<std::pair<unsigned, Device>> devices;
};

GpuWatch::GpuWatch(const char* library) : driver_(new Driver{Nvml(library), {}}) {
  if (driver_->nvml.loaded() && driver_->nvml.start().empty()) {
    driver_->devices = devices_of(driver_->nvml);
  } else {
    driver_.reset();
  }
}

GpuWatch::~GpuWatch() = default;

std::vector<GpuMoment> GpuWatch::look() const {
  std::vector<GpuMoment> out;
  if (!driver_) return out;
  const Nvml& nvml = driver_->nvml;
  for (const auto& [index, device] : driver_->devices) {
    GpuMoment now{.index = index};
    const auto reasons =
        nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
    if (reasons) now.throttle = *reasons;
    now.sm_clock_hz = number(nvml.get("nvmlDeviceGetClockInfo", device, Nvml::kClockSm), 1e6);
    now.memory_clock_hz =
        number(nvml.get("nvmlDeviceGetClockInfo", device, Nvml::kClockMemory), 1e6);
    now.power_w = number(nvml.get<unsigned>("nvmlDeviceGetPowerUsage", device), 1e-3);
    now.temperature_c = number(nvml.get("nvmlDeviceGetTemperature", device, 0), 1);
    out.push_back(now);
  }
  return out;
}

GpuRoom GpuWatch::room(const std::string& gpu) const {
  GpuRoom room;
  if (!driver_) return room;
  const Nvml& nvml = driver_->nvml;
  Device device = nullptr;
  if (gpu.starts_with("MIG-")) {
    nvml.call("nvmlDeviceGetHandleByUUID", gpu.c_str(), &device);
  } else {
    // Its place among those that are seen: NVML numbers hidden ones too.
    for (std::size_t place = 0; place < driver_->devices.size(); ++place) {
      if (std::to_string(place) == gpu) device = driver_->devices[place].second;
    }
  }
  if (device == nullptr) return room;
  const auto mode = nvml.get<unsigned>("nvmlDeviceGetComputeMode", device);
  room.one_process = mode == Nvml::kExclusiveThread || mode == Nvml::kExclusiveProcess;
  unsigned slices = 0, pending = 0;
  nvml.call("nvmlDeviceGetMigMode", device, &slices, &pending);
  if (slices != 0) return room;  // one slice of it is used, and this is all of it
  Nvml::Memory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) == Nvml::kSuccess) {
    room.free_bytes = static_cast<double>(memory.free);
  }
  return room;
}

}  // namespace roofline::machine
