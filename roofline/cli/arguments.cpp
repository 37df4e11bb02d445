#include "roofline/cli/arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <system_error>

#include "roofline/base/error.hpp"

namespace roofline::cli {
namespace fs = std::filesystem;

CLI::Validator within(double least, double most) {
  const auto is_number = [](const std::string& text) {
    double value = 0;
    const bool read = CLI::detail::lexical_cast(text, value);
    return read && std::isnan(value) ? text + " is not a number" : std::string();
  };
  return CLI::Range(least, most) & CLI::Validator(is_number, "");
}

void keep_inputs(std::string_view flag, const fs::path& out, const std::vector<fs::path>& inputs) {
  if (out.empty()) return;
  for (const fs::path& input : inputs) {
    if (input.empty()) continue;
    std::error_code none;  // what is not there yet may have two names, too
    const auto name = [](const fs::path& path) { return fs::absolute(path).lexically_normal(); };
    if (name(input) != name(out) && !fs::equivalent(input, out, none)) continue;
    throw BadInput(
        fmt::format("{} {}: is read by the same command, name another file", flag, out.string()));
  }
}

void keep_folder(std::string_view flag, const fs::path& out, const fs::path& folder) {
  if (out.empty()) return;
  std::error_code none;
  const fs::path beside = out.has_parent_path() ? out.parent_path() : fs::path(".");
  const bool read = fs::equivalent(beside, folder, none);
  if (!read && !fs::exists(beside / "machine.json", none)) return;
  throw BadInput(fmt::format("{} {}: lies in a results folder, name another", flag, out.string()));
}

}  // namespace roofline::cli
