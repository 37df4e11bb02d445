#include "roofline/machine/gpu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace roofline::machine {
namespace {

using nlohmann::json;

// NVML's C interface, as far as it is used (nvml.h, stable since driver 450). The header comes
// with the CUDA Toolkit only, and this must build without it.
using Device = struct nvmlDevice_st*;
struct Memory {
  unsigned long long total, free, used;
};
constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kExclusiveThread = 1, kExclusiveProcess = 3;

class Nvml {
 public:
  explicit Nvml(const char* library) : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {}
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (started_) call<int()>("nvmlShutdown");
    if (handle_) dlclose(handle_);
  }

  bool loaded() const { return handle_ != nullptr; }

  std::string start() {
    const int code = call<int()>("nvmlInit_v2");
    started_ = code == kSuccess;
    if (started_) return {};
    const auto text = function<const char*(int)>("nvmlErrorString");
    return text ? text(code) : fmt::format("NVML error {}", code);
  }

  /// The status code; -1 if this driver lacks the function.
  template <class Signature, class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto f = function<Signature>(name);
    return f ? f(arguments...) : -1;
  }

  /// A query `int name(device, T*)`.
  template <class T>
  json get(const char* name, Device device) const {
    T value{};
    return call<int(Device, T*)>(name, device, &value) == kSuccess ? json(value) : json(nullptr);
  }

  /// A query `int name(device, selector, unsigned*)`.
  json get(const char* name, Device device, unsigned selector) const {
    unsigned value = 0;
    const int code = call<int(Device, unsigned, unsigned*)>(name, device, selector, &value);
    return code == kSuccess ? json(value) : json(nullptr);
  }

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(handle_, name));
  }

  void* handle_;
  bool started_ = false;
};

json scaled(const json& value, double factor) {
  return value.is_number() ? json(value.get<double>() * factor) : json(nullptr);
}

std::string text_query(const Nvml& nvml, const char* name, Device device) {
  char text[96] = {};
  nvml.call<int(Device, char*, unsigned)>(name, device, text, unsigned{sizeof text - 1});
  return text;
}

// How many processes hold a context there, this one not counted only if it has none yet.
json processes(const Nvml& nvml, Device device) {
  unsigned sum = 0;
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"}) {
    unsigned count = 0;
    const int code =
        nvml.call<int(Device, unsigned*, void*)>(name, device, &count, static_cast<void*>(nullptr));
    if (code != kSuccess && code != kInsufficientSize) return nullptr;
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
  const int capability = nvml.call<int(Device, int*, int*)>("nvmlDeviceGetCudaComputeCapability",
                                                            device, &major, &minor);
  gpu["compute_capability"] =
      capability == kSuccess ? json(fmt::format("{}.{}", major, minor)) : json(nullptr);
  Memory memory{};
  const bool has_memory =
      nvml.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess;
  gpu["memory_bytes"] = has_memory ? json(memory.total) : json(nullptr);
  gpu["memory_free_bytes"] = has_memory ? json(memory.free) : json(nullptr);
  gpu["memory_bus_bits"] = nvml.get<unsigned>("nvmlDeviceGetMemoryBusWidth", device);
  const auto clock = [&](const char* query, unsigned which) {
    return scaled(nvml.get(query, device, which), 1e6);
  };
  gpu["sm_clock_max_hz"] = clock("nvmlDeviceGetMaxClockInfo", kClockSm);
  gpu["memory_clock_max_hz"] = clock("nvmlDeviceGetMaxClockInfo", kClockMemory);
  gpu["sm_clock_now_hz"] = clock("nvmlDeviceGetClockInfo", kClockSm);
  gpu["memory_clock_now_hz"] = clock("nvmlDeviceGetClockInfo", kClockMemory);
  const auto watts = [&](const char* query) {
    return scaled(nvml.get<unsigned>(query, device), 1e-3);
  };
  gpu["application_clock_hz"] = clock("nvmlDeviceGetApplicationsClock", kClockSm);
  gpu["application_clock_default_hz"] = clock("nvmlDeviceGetDefaultApplicationsClock", kClockSm);
  gpu["power_limit_w"] = watts("nvmlDeviceGetEnforcedPowerLimit");
  gpu["power_limit_default_w"] = watts("nvmlDeviceGetPowerManagementDefaultLimit");
  gpu["power_now_w"] = watts("nvmlDeviceGetPowerUsage");
  gpu["temperature_c"] = nvml.get("nvmlDeviceGetTemperature", device, 0);
  gpu["throttle_reasons"] =
      nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
  unsigned now = 0, pending = 0;
  const auto pair = [&](const char* query) {
    const int code = nvml.call<int(Device, unsigned*, unsigned*)>(query, device, &now, &pending);
    return code == kSuccess ? json(now != 0) : json(nullptr);
  };
  gpu["ecc"] = pair("nvmlDeviceGetEccMode");
  gpu["mig"] = pair("nvmlDeviceGetMigMode");
  gpu["persistence"] = nvml.get<unsigned>("nvmlDeviceGetPersistenceMode", device);
  const auto virtualisation = nvml.get<unsigned>("nvmlDeviceGetVirtualizationMode", device);
  gpu["virtualisation"] = nullptr;
  if (virtualisation.is_number()) {
    constexpr const char* kModes[] = {"none", "passthrough", "vgpu", "vgpu-host", "vsga-host"};
    gpu["virtualisation"] = kModes[std::min(virtualisation.get<unsigned>(), 4u)];
  }
  unsigned correctable = 0, uncorrectable = 0, waiting = 0, failed = 0;
  const bool remaps = nvml.call<int(Device, unsigned*, unsigned*, unsigned*, unsigned*)>(
                          "nvmlDeviceGetRemappedRows", device, &correctable, &uncorrectable,
                          &waiting, &failed) == kSuccess;
  gpu["remapped_rows_uncorrectable"] = remaps ? json(uncorrectable) : json(nullptr);
  gpu["remapping_failed"] = remaps ? json(failed != 0) : json(nullptr);
  gpu["pcie_generation"] = nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkGeneration", device);
  // nvmlDeviceGetMaxPcieLinkGeneration is the lower of the board's and the slot's.
  gpu["pcie_generation_max"] = nvml.get<unsigned>("nvmlDeviceGetGpuMaxPcieLinkGeneration", device);
  if (gpu["pcie_generation_max"].is_null()) {
    gpu["pcie_generation_max"] = nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", device);
  }
  gpu["pcie_width"] = nvml.get<unsigned>("nvmlDeviceGetCurrPcieLinkWidth", device);
  gpu["pcie_width_max"] = nvml.get<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", device);
  gpu["processes"] = processes(nvml, device);
  return gpu;
}

/// Those that this process may look at, with their indices.
std::vector<std::pair<unsigned, Device>> devices_of(const Nvml& nvml) {
  std::vector<std::pair<unsigned, Device>> out;
  unsigned count = 0;
  nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count);
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const int code =
        nvml.call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", index, &device);
    if (code == kSuccess) out.emplace_back(index, device);
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
  if (nvml.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", version,
                                      unsigned{sizeof version - 1}) == kSuccess) {
    gpus["driver_version"] = version;
  }
  int cuda = 0;
  if (nvml.call<int(int*)>("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kSuccess) {
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
  const auto number = [](const json& value, double factor) {
    return value.is_number() ? factor * value.get<double>() : std::nan("");
  };
  for (const auto& [index, device] : driver_->devices) {
    GpuMoment now{.index = index};
    const auto reasons =
        nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
    if (reasons.is_number()) now.throttle = reasons.get<std::uint64_t>();
    now.sm_clock_hz = number(nvml.get("nvmlDeviceGetClockInfo", device, kClockSm), 1e6);
    now.memory_clock_hz = number(nvml.get("nvmlDeviceGetClockInfo", device, kClockMemory), 1e6);
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
    nvml.call<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID", gpu.c_str(), &device);
  } else {
    for (const auto& [index, known] : driver_->devices) {
      if (std::to_string(index) == gpu) device = known;
    }
  }
  if (device == nullptr) return room;
  const json mode = nvml.get<unsigned>("nvmlDeviceGetComputeMode", device);
  room.one_process = mode == json(kExclusiveThread) || mode == json(kExclusiveProcess);
  unsigned slices = 0, pending = 0;
  nvml.call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device, &slices, &pending);
  if (slices != 0) return room;  // one slice of it is used, and this is all of it
  Memory memory{};
  if (nvml.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) {
    room.free_bytes = static_cast<double>(memory.free);
  }
  return room;
}

}  // namespace roofline::machine
