#include "roofline/check/side_by_side.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "roofline/base/json_text.hpp"
#include "roofline/base/statistics.hpp"
#include "roofline/base/text_table.hpp"

namespace roofline::check {
namespace {

using nlohmann::json;

const Resource* find(const Report& report, const Ceiling& wanted) {
  const auto found = std::find_if(
      report.resources.begin(), report.resources.end(),
      [&](const Resource& resource) { return same_resource(resource.measured, wanted); });
  return found == report.resources.end() ? nullptr : &*found;
}

Comparison compared(const std::vector<Report>& reports, const Resource& resource) {
  Comparison out{.resource = resource};
  std::vector<double> known;
  for (const Report& report : reports) {
    const Resource* own = find(report, resource.measured);
    out.shares.push_back(own ? own->measured.measured : kUnknownNumber);
    if (own) known.push_back(own->measured.measured);
  }
  out.median = median(std::move(known));
  for (double& share : out.shares) share = share_of(resource.measured, share, out.median);
  return out;
}

std::vector<std::string> names_of(const std::vector<Report>& reports) {
  std::set<std::size_t> gpus;
  for (const Report& report : reports) {
    if (report.gpu_index && report.machine == reports.front().machine) {
      gpus.insert(*report.gpu_index);
    }
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    out.push_back(gpus.size() == reports.size() ? fmt::format("GPU {}", *reports[i].gpu_index)
                                                : std::to_string(i + 1));
  }
  return out;
}

/// Of a box: the row of its least share.
std::size_t slowest_row(const std::vector<Comparison>& rows, std::size_t box) {
  std::size_t out = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double share = rows[i].shares[box];
    if (!std::isnan(share) && (out == rows.size() || share < rows[out].shares[box])) out = i;
  }
  return out;
}

std::string boxes_table(const std::vector<Report>& reports, const SideBySide& sides) {
  std::vector<std::vector<std::string>> lines = {
      {"slowest first", "verdict", "least", "of the median, in", "folder"}};
  for (const std::size_t box : sides.in_order) {
    const std::size_t row = sides.slowest[box];
    const bool known = row < sides.rows.size();
    lines.push_back({sides.names[box], std::string(word(reports[box].verdict)),
                     known ? percent(sides.rows[row].shares[box]) : "-",
                     known ? printable(sides.rows[row].resource.name()) : "-",
                     printable(reports[box].folder)});
  }
  return aligned(lines, 5);
}

std::string shares_table(const SideBySide& sides) {
  std::vector<std::vector<std::string>> lines = {{"of the median", "median"}};
  lines[0].insert(lines[0].end(), sides.names.begin(), sides.names.end());
  for (const Comparison& row : sides.rows) {
    const Ceiling& c = row.resource.measured;
    lines.push_back(
        {printable(row.resource.name()), with_prefix(row.median, rate_unit(c.resource, c.dtype))});
    for (const double share : row.shares) lines.back().push_back(percent(share));
  }
  return aligned(lines, 1);
}

std::string causes_text(const std::vector<Report>& reports, const SideBySide& sides) {
  std::string out;
  for (const std::size_t box : sides.in_order) {
    for (const Resource& r : reports[box].resources) {
      if (r.verdict < Grade::kWarn) continue;
      out += fmt::format("{}: {} {}: {}\n", sides.names[box], word(r.verdict), printable(r.name()),
                         fmt::join(r.causes, ", "));
    }
  }
  return out;
}

}  // namespace

std::vector<Report> check_folders(const std::vector<std::filesystem::path>& folders,
                                  const std::filesystem::path& root) {
  std::vector<Report> out;
  for (const auto& folder : folders) out.push_back(check_folder(folder, root, folders));
  return out;
}

SideBySide side_by_side(const std::vector<Report>& reports) {
  SideBySide out;
  out.names = names_of(reports);
  for (const Report& report : reports) {
    for (const Resource& resource : report.resources) {
      const bool has = std::any_of(out.rows.begin(), out.rows.end(), [&](const Comparison& row) {
        return same_resource(row.resource.measured, resource.measured);
      });
      if (!has) out.rows.push_back(compared(reports, resource));
    }
  }
  std::erase_if(out.rows, [](const Comparison& row) {
    return std::count_if(row.shares.begin(), row.shares.end(),
                         [](double share) { return !std::isnan(share); }) < 2;
  });
  std::vector<double> least;
  for (std::size_t box = 0; box < reports.size(); ++box) {
    const std::size_t row = slowest_row(out.rows, box);
    out.slowest.push_back(row);
    least.push_back(row < out.rows.size() ? out.rows[row].shares[box] : INFINITY);
  }
  out.in_order.resize(reports.size());
  std::iota(out.in_order.begin(), out.in_order.end(), std::size_t{0});
  std::stable_sort(out.in_order.begin(), out.in_order.end(),
                   [&](std::size_t a, std::size_t b) { return least[a] < least[b]; });
  return out;
}

Grade verdict_of(const std::vector<Report>& reports) {
  Grade out = Grade::kPass;
  for (const Report& report : reports) out = std::max(out, report.verdict);
  return out;
}

std::string text_of(const std::vector<Report>& reports) {
  const SideBySide sides = side_by_side(reports);
  std::string out = boxes_table(reports, sides);
  if (!sides.rows.empty()) out += "\n" + shares_table(sides);
  if (const std::string causes = causes_text(reports, sides); !causes.empty()) out += "\n" + causes;
  return out + "\n`roofline check` of one folder tells all of it.\n";
}

json json_of(const std::vector<Report>& reports) {
  const SideBySide sides = side_by_side(reports);
  json out = {{"verdict", word(verdict_of(reports))},
              {"boxes", json::array()},
              {"side_by_side", json::array()}};
  for (const Report& report : reports) out["boxes"].push_back(json_of(report));
  for (const Comparison& row : sides.rows) {
    json shares = json::array();
    for (const double share : row.shares) shares.push_back(known(share));
    out["side_by_side"].push_back({{"key", row.resource.key()},
                                   {"id", row.resource.measured.id()},
                                   {"median", row.median},
                                   {"shares", shares}});
  }
  return out;
}

}  // namespace roofline::check
