// What CLI11's own checks of arguments leave out.
#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string_view>
#include <vector>

namespace roofline::cli {

/// CLI::Range, which takes NaN for a number of any range.
CLI::Validator within(double least, double most);

/// Throws BadInput naming the flag where `out` is one of the files that the command reads, which
/// writing would destroy. Nothing where it is empty.
void keep_inputs(std::string_view flag, const std::filesystem::path& out,
                 const std::vector<std::filesystem::path>& inputs);

/// The same where `out` lies in a results folder, one that has machine.json or the one that the
/// command reads: it stays as it was measured.
void keep_folder(std::string_view flag, const std::filesystem::path& out,
                 const std::filesystem::path& folder);

}  // namespace roofline::cli
