// A results folder on a terminal: limits, best kernels and a roofline made of characters.
#pragma once

#include <filesystem>
#include <string>

namespace roofline {

/// From ceilings.csv and roofline.csv; a missing one is said. Throws BadInput if the folder or both
/// files are missing, or naming file, line and column of what cannot be used.
std::string text_report(const std::filesystem::path& results_dir);

}  // namespace roofline
