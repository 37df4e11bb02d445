#include "roofline/base/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "roofline/base/schema.hpp"

namespace roofline {

std::string with_prefix(double value, std::string_view unit) {
  if (std::isnan(value)) return "-";
  if (std::abs(value) >= 1e22) return fmt::format("{:.3g} {}", value, unit);  // no prefix is near
  constexpr std::pair<double, std::string_view> kPrefixes[] = {
      {1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
      {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}, {1e-12, "p"}};
  for (const auto& [scale, prefix] : kPrefixes) {
    // 0.9995: what rounds to 1000 of the smaller unit is shown in this one.
    if (std::abs(value) >= 0.9995 * scale) {
      const double scaled = value / scale;
      const int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
      return fmt::format("{:.{}f} {}{}", scaled, decimals, prefix, unit);
    }
  }
  return fmt::format("{:.3g} {}", value, unit);
}

std::string percent(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.1f} %", 100 * fraction);
}

std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i < left ? fmt::format("{:<{}}  ", row[i], width[i])
                       : fmt::format("{:>{}}  ", row[i], width[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string rate_unit(const std::string& resource, const std::string& dtype) {
  if (resource == "latency") return "s";
  if (resource != "compute") return "B/s";
  return dtype.find('f') != std::string::npos || dtype.find('e') == 0 ? "FLOP/s" : "OP/s";
}

std::string beside_library(double ratio, const std::string& library) {
  return std::isnan(ratio) ? "-" : fmt::format("{:.2f}x {}", ratio, printable(library));
}

std::string Stars::of(const std::string& verdict) {
  if (!is_doubtful(verdict)) return {};
  ++times_[verdict];
  return "*";
}

std::string Stars::lines() const {
  std::string out;
  for (const auto& [verdict, times] : times_) {
    const char* const meaning =
        verdict == "not-quiet"     ? "fewer than three samples in quiet moments, all of them count"
        : verdict == "clock-moved" ? "by 10 %, between samples or from the peak's"
                                   : "they lie 15 % or more off their median";
    out += fmt::format("* {} {}: {}\n", times, verdict, meaning);
  }
  return out;
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace roofline
