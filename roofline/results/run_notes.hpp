// What a run's own record says that a reader of its figures must know.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roofline {

/// A line each: that the run is not whole, and which kernels were wrong or gave no time. Nothing
/// where the folder has no run.json. Throws BadInput where that is not what a run writes.
std::vector<std::string> run_notes(const std::filesystem::path& folder);

}  // namespace roofline
