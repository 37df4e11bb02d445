#include "roofline/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace roofline {
namespace {

/// Columns as wide as their widest cell; the first `left` columns are aligned left.
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

std::string percent(double fraction) {
  return std::isnan(fraction) ? "-" : fmt::format("{:.1f} %", 100 * fraction);
}

std::string rate_unit(const std::string& resource, const std::string& dtype) {
  if (resource == "latency") return "s";
  if (resource != "compute") return "B/s";
  return dtype.find('f') != std::string::npos || dtype.find('e') == 0 ? "FLOP/s" : "OP/s";
}

/// A time that the model says cannot be: not to be believed, whatever is wrong.
bool refused(const Point& point) {
  return point.verdict == "above-roof" || point.verdict == "impossible";
}

/// A user's name on one line of a terminal.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace

std::string with_prefix(double value, std::string_view unit) {
  if (std::isnan(value)) return "-";
  if (std::abs(value) >= 1e19) return fmt::format("{:.3g} {}", value, unit);  // no prefix is near
  constexpr std::pair<double, std::string_view> kPrefixes[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
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

std::string ceilings_summary(const std::vector<Ceiling>& ceilings) {
  std::vector<std::vector<std::string>> rows = {{"ceiling", "level or dtype", "unit", "threads",
                                                 "advertised", "theory", "measured", "of theory",
                                                 "quiet", "as lived", "verdict"}};
  std::size_t left_out = 0;
  std::string causes;
  for (const Ceiling& c : ceilings) {
    if (hidden(ceilings, c)) continue;
    const bool quiet = c.condition.ends_with("quiet");
    const Ceiling* lived = under(ceilings, c, "as-lived");
    if (!c.cause.empty()) causes += fmt::format("  {} {}: {}\n", c.device, c.id(), c.cause);
    if (c.resource == "bandwidth" && c.operation != "read") {
      ++left_out;
      continue;
    }
    const std::string unit = rate_unit(c.resource, c.dtype);
    rows.push_back({fmt::format("{} {}", c.device, c.resource),
                    c.resource == "compute" ? c.dtype : c.level, c.exec_unit,
                    fmt::format("{}", c.threads), with_prefix(c.advertised, unit),
                    with_prefix(c.theory_at_clock, unit), with_prefix(c.measured, unit),
                    percent(c.measured / c.theory_at_clock),
                    quiet ? fmt::format("{}/{}", c.samples, c.samples + c.samples_rejected) : "-",
                    with_prefix(lived ? lived->measured : kUnknownNumber, unit), c.verdict});
  }
  if (rows.size() == 1 && left_out == 0) return "No ceilings.\n";
  std::string out = aligned(rows, 3);
  if (left_out > 0) {
    out += fmt::format("({} rows of write, copy and other accesses: ceilings.csv)\n", left_out);
  }
  if (!causes.empty()) out += "Ceilings that need care:\n" + causes;
  return out;
}

std::string kernels_summary(const std::vector<Point>& points) {
  using Work = std::tuple<std::string, std::string, std::string, std::string, std::string, int>;
  std::vector<Work> order;
  std::map<Work, const Point*> best;
  std::map<std::string, std::size_t> faults;
  const auto faster = [](const Point& a, const Point& b) {
    const auto key = [](const Point& p) {
      return std::make_tuple(refused(p), !p.benchmark->library.empty(), p.time_s);
    };
    return key(a) < key(b);
  };
  for (const Point& point : points) {
    const Benchmark& row = *point.benchmark;
    const Work work{row.device, row.kernel, row.dtype, row.shape, row.temperature, row.threads};
    const auto [found, fresh] = best.try_emplace(work, &point);
    if (fresh) order.push_back(work);
    if (!fresh && faster(point, *found->second)) found->second = &point;
    if (refused(point) || point.verdict == "no-roof") ++faults[point.verdict];
  }
  if (order.empty()) return "No kernels.\n";
  std::vector<std::vector<std::string>> rows = {{"kernel", "best variant", "time", "achieved",
                                                 "bandwidth", "bound by", "of roof",
                                                 "vs best library"}};
  for (const Work& work : order) {
    const Point& point = *best.at(work);
    const Benchmark& row = *point.benchmark;
    std::string name = fmt::format("{}/{}", row.kernel, row.dtype);
    if (!row.shape.empty()) name += "/" + row.shape;
    if (!row.temperature.empty()) name += "/" + row.temperature;
    name += row.device == "gpu" ? "/gpu" : fmt::format("/{}T", row.threads);
    rows.push_back({printable(name), row.variant.empty() ? "-" : printable(row.variant),
                    with_prefix(point.time_s, "s"),
                    with_prefix(point.achieved_flops_per_s, rate_unit("compute", row.roof_dtype)),
                    with_prefix(row.bytes / point.time_s, "B/s"),
                    point.bound_by.empty() ? "-" : point.bound_by,
                    refused(point) ? point.verdict : percent(point.t_lower_s / point.time_s),
                    std::isnan(point.peer_ratio)
                        ? "-"
                        : fmt::format("{:.2f}x {}", point.peer_ratio, point.peer)});
  }
  std::string out = aligned(rows, 2);
  for (const auto& [verdict, count] : faults) {
    out += fmt::format("{} rows with verdict {}: see roofline.csv\n", count, verdict);
  }
  return out;
}

}  // namespace roofline
