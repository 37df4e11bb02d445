#include "roofline/base/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

using nlohmann::json;

/// Google Benchmark prints counters that are not finite as bare NaN and Infinity, which no JSON
/// parser takes. Made null here, so that only a row that needs the number is refused.
std::string without_bare_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == '-' || c == 'N' || c == 'I')) {
      const std::size_t sign = c == '-' ? 1 : 0;
      bool found = false;
      for (const std::string_view word : {"NaN", "Infinity"}) {
        if (text.substr(i + sign, word.size()) == word) {
          out += "null";
          i += sign + word.size() - 1;
          found = true;
          break;
        }
      }
      if (found) continue;
    }
    out += c;
  }
  return out;
}

}  // namespace

json parse_json(std::string_view text, const std::string& source) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw BadInput(source + ": is empty");
  }
  const std::string clean = without_bare_nan(text);
  try {
    return json::parse(clean);
  } catch (const json::parse_error& error) {
    const auto end = clean.begin() + static_cast<std::ptrdiff_t>(std::min(
                                         error.byte > 0 ? error.byte - 1 : 0, clean.size()));
    const auto line = 1 + std::count(clean.begin(), end, '\n');
    throw BadInput(fmt::format("{}:{}: not JSON, or cut off, at byte {} of {}", source, line,
                               std::min(error.byte, clean.size()), clean.size()));
  } catch (const json::exception& error) {  // a number beyond double's range
    throw BadInput(fmt::format("{}: not JSON that can be read: {}", source, error.what()));
  }
}

json known(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
json known(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

}  // namespace roofline
