// A run's own record, and what it says that a reader of the figures must know.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roofline {

/// run.json of a results folder, an object; an empty one where there is none. Throws BadInput where
/// it is no JSON object.
nlohmann::json run_record(const std::filesystem::path& folder);

/// Of a few digits, as NVML and CUDA count GPUs, and run.json names them.
bool is_gpu_index(std::string_view text);

/// Position among the machine's `gpus` GPUs of the one that a results folder measured: the first,
/// unless its run.json names another. Empty if that is a slice of one of several (MIG), which has
/// no index. Throws BadInput where run.json is no JSON object.
std::optional<std::size_t> measured_gpu(const std::filesystem::path& folder, std::size_t gpus);

/// A line each: that the run is not whole, and which kernels were wrong or gave no time. Nothing
/// where the folder has no run.json. Throws BadInput where that is not what a run writes.
std::vector<std::string> run_notes(const std::filesystem::path& folder);

}  // namespace roofline
