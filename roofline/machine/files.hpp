// Reading small text files of /proc and /sys, where anything may be missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roofline::machine {

/// The whole file; nothing if it cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

/// The first line without surrounding blanks; nothing if it cannot be read or is empty.
std::optional<std::string> read_line(const std::filesystem::path& path);

/// The text without surrounding white space.
std::string trim(const std::string& text);

}  // namespace roofline::machine
