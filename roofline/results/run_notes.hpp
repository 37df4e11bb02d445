// A run's own record, and what it says that a reader of the figures must know.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roofline {

/// run.json of a results folder, an object; an empty one where there is none. Throws BadInput where
/// it is no JSON object.
nlohmann::json run_record(const std::filesystem::path& folder);

/// A line each: that the run is not whole, and which kernels were wrong or gave no time. Nothing
/// where the folder has no run.json. Throws BadInput where that is not what a run writes.
std::vector<std::string> run_notes(const std::filesystem::path& folder);

}  // namespace roofline
