// NVIDIA GPUs as the driver tells of them, through NVML loaded at run time.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
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

}  // namespace roofline::machine
