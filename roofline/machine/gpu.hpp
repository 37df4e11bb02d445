// NVIDIA GPUs as the driver tells of them, through NVML loaded at run time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace roofline::machine {

/// {"status": "none" | "unusable" | "ok", "reason": one line unless "ok", "driver_version",
/// "cuda_driver_version", "devices": [facts and state of each; an unknown is null]}. The SM count
/// is not among them: NVML does not tell. Serial numbers and UUIDs are left out on purpose.
/// `library` and `root` are for tests.
nlohmann::json read_gpus(const char* library = "libnvidia-ml.so.1",
                         const std::filesystem::path& root = "/");

/// The UUIDs ("GPU-…") of read_gpus' devices, in their order, for a user who names one; empty where
/// there is no driver.
std::vector<std::string> gpu_uuids(const char* library = "libnvidia-ml.so.1");

/// A GPU at one moment; NaN or nothing where NVML does not tell.
struct GpuMoment {
  unsigned index = 0;
  double sm_clock_hz = std::numeric_limits<double>::quiet_NaN();
  double memory_clock_hz = std::numeric_limits<double>::quiet_NaN();
  double power_w = std::numeric_limits<double>::quiet_NaN();
  double temperature_c = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::uint64_t> throttle;  ///< reasons, as NVML's bits
};

/// For processes that use one GPU at the same time.
struct GpuRoom {
  double free_bytes = std::numeric_limits<double>::quiet_NaN();
  bool one_process = false;  ///< its compute mode takes a single one
};

/// Keeps NVML open. Without persistence mode the driver shuts a GPU down when its last client
/// leaves, and waking it takes seconds.
class GpuWatch {
 public:
  explicit GpuWatch(const char* library = "libnvidia-ml.so.1");
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  /// Every GPU, with few queries: it may be asked while something is being timed. Empty without a
  /// driver.
  std::vector<GpuMoment> look() const;
  /// `gpu` is an index or a MIG slice's UUID.
  GpuRoom room(const std::string& gpu) const;

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;  ///< none: NVML cannot be used
};

}  // namespace roofline::machine
