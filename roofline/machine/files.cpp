#include "roofline/machine/files.hpp"

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"

namespace roofline::machine {

std::optional<std::string> read_text(const std::filesystem::path& path) {
  try {
    return roofline::read_text(path);
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

std::optional<std::string> read_line(const std::filesystem::path& path) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  const auto line = trim(text->substr(0, text->find('\n')));
  if (line.empty()) return std::nullopt;
  return line;
}

std::string trim(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace roofline::machine
