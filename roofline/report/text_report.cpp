#include "roofline/report/text_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/schema.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/ceilings/ceiling.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/report/summary.hpp"
#include "roofline/results/run_notes.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

/// What the terminal shows of a roofline.csv row.
struct Row {
  std::string device, kernel, variant, dtype, shape, temperature, level, bound_by, peer, verdict;
  double threads, time_s, flops, bytes, intensity, flops_per_s, t_lower_s, peer_ratio;
};

std::vector<Row> read_rows(const fs::path& path) {
  const CsvTable table = CsvTable::read(path);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto text = [&](std::string_view column) { return table.text(i, column); };
    const auto number = [&](std::string_view column) { return table.number(i, column); };
    if (text("bytes_source") == "counter") continue;  // beside the model's row
    if (!text("parent").empty()) continue;            // a program's part: on the page only
    rows.push_back({text("device"), text("kernel"), text("variant"), text("dtype"), text("shape"),
                    text("temperature"), text("level"), text("bound_by"), text("peer"),
                    text("verdict"), number("threads"), number("time_s"), number("flops"),
                    number("bytes"), number("intensity"), number("achieved_flops_per_s"),
                    number("t_lower_s"), number("peer_ratio")});
    if (!(rows.back().time_s > 0)) {
      throw BadInput(
          fmt::format("{}: column 'time_s': '{}' is not above 0", table.where(i), text("time_s")));
    }
  }
  return rows;
}

/// One row for each benchmark: that of the level which bounds it; where arithmetic does, the last
/// with a place, of the outermost level; else the first.
std::vector<Row> bounding(const std::vector<Row>& rows) {
  using Name = std::tuple<std::string, std::string, std::string, std::string, std::string,
                          std::string, std::string>;
  std::vector<Row> out;
  std::map<Name, std::size_t> places;
  for (const Row& row : rows) {
    const Name name{row.device,
                    row.kernel,
                    row.variant,
                    row.dtype,
                    row.shape,
                    row.temperature,
                    std::isnan(row.threads) ? "" : fmt::format("{}", row.threads)};
    const auto [found, fresh] = places.try_emplace(name, out.size());
    if (fresh) {
      out.push_back(row);
    } else if (Row& kept = out[found->second];
               kept.level != kept.bound_by && !is_refused(kept.verdict)) {
      const bool outer = row.bound_by == "compute" && !std::isnan(row.intensity);
      if (row.level == row.bound_by || is_refused(row.verdict) || std::isnan(kept.intensity) ||
          outer)
        kept = row;
    }
  }
  return out;
}

/// The thread count that a device is shown on: all that its ceilings have; where kernels have run
/// on fewer only, the most of theirs, if there are ceilings for it. 1 where rows have none.
int threads_of(const std::vector<Ceiling>& ceilings, const std::vector<Row>& rows,
               const std::string& device) {
  std::set<int> measured, ran;
  for (const Ceiling& c : ceilings) {
    if (c.device == device && c.resource != "latency") measured.insert(c.threads);
  }
  for (const Row& row : rows) {
    if (row.device == device && row.threads >= 1 && row.threads < 1e9)
      ran.insert(static_cast<int>(row.threads));
  }
  if (measured.empty()) return ran.empty() ? 1 : *ran.rbegin();
  const int all = *measured.rbegin();
  return ran.empty() || ran.contains(all) || !measured.contains(*ran.rbegin()) ? all
                                                                               : *ran.rbegin();
}

/// A kernel on one type and temperature.
using Series = std::tuple<std::string, std::string, std::string>;
Series series_of(const Row& row) { return {row.kernel, row.dtype, row.temperature}; }

/// The thread count that each series is shown on: that of the device, or the most where it has not
/// run on that.
std::map<Series, double> shown_threads(const std::vector<Row>& rows, const std::string& device,
                                       int of_device) {
  std::map<Series, double> most;
  for (const Row& row : rows) {
    if (row.device != device || std::isnan(row.threads)) continue;
    const auto [found, fresh] = most.try_emplace(series_of(row), row.threads);
    const bool better =
        found->second != of_device && (row.threads == of_device || row.threads > found->second);
    if (!fresh && better) found->second = row.threads;
  }
  return most;
}

bool is_shown(const Row& row, const std::map<Series, double>& threads) {
  return std::isnan(row.threads) || row.threads == threads.at(series_of(row));
}

/// " on 1T" where that is not what the device is shown on.
std::string other_threads(const Row& row, int of_device) {
  const bool other = row.device == "cpu" && row.threads < 1e9 && row.threads != of_device;
  return other ? fmt::format(" on {:g}T", row.threads) : "";
}

/// For each operation, dtype and temperature the largest problem and the fastest variant on it, a
/// library where there is no other.
std::string best_kernels(const std::vector<Row>& rows, const std::string& device,
                         const std::map<Series, double>& threads, int of_device) {
  std::map<Series, Row> best;
  for (const Row& row : rows) {
    if (row.device != device || !is_shown(row, threads) || is_refused(row.verdict)) continue;
    const auto [found, fresh] = best.try_emplace(series_of(row), row);
    const auto order = [](const Row& r) {
      return std::make_tuple(r.flops, r.flops > 0 ? 0 : r.bytes, !r.peer.empty(), -r.time_s);
    };
    if (!fresh && order(row) > order(found->second)) found->second = row;
  }
  std::vector<std::vector<std::string>> table = {{"kernel", "largest shape", "best variant", "time",
                                                  "achieved", "bound by", "of roof",
                                                  "vs best library"}};
  Stars stars;
  for (const auto& [work, row] : best) {
    const std::string name = fmt::format("{} {} {}{}", row.kernel, row.dtype, row.temperature,
                                         other_threads(row, of_device));
    table.push_back({printable(name), printable(row.shape), printable(row.variant),
                     with_prefix(row.time_s, "s") + stars.of(row.verdict),
                     row.flops > 0 ? with_prefix(row.flops_per_s, rate_unit("compute", row.dtype))
                                   : with_prefix(row.bytes / row.time_s, "B/s"),
                     row.bound_by.empty() ? "-" : printable(row.bound_by),
                     percent(row.t_lower_s / row.time_s),
                     beside_library(row.peer_ratio, row.peer)});
  }
  return table.size() == 1 ? "No kernels.\n" : aligned(table, 3) + stars.lines();
}

/// Characters on two logarithmic axes.
class Chart {
 public:
  static constexpr int kWidth = 60, kHeight = 20;

  Chart(double x0, double x1, double y0, double y1)
      : x_{std::log10(x0), std::log10(x1)}, y_{std::log10(y0), std::log10(y1)} {
    lines_.fill(std::string(kWidth, ' '));
  }

  double x_at(int column) const {
    return std::pow(10, x_[0] + (x_[1] - x_[0]) * (column + 0.5) / kWidth);
  }
  int row_of(double y) const {
    return static_cast<int>(std::floor((y_[1] - std::log10(y)) / (y_[1] - y_[0]) * kHeight));
  }
  int column_of(double x) const {
    return static_cast<int>(std::floor((std::log10(x) - x_[0]) / (x_[1] - x_[0]) * kWidth));
  }
  void put(int column, int row, char mark) {
    if (column >= 0 && column < kWidth && row >= 0 && row < kHeight) lines_[row][column] = mark;
  }

  std::string str() const {
    std::string out;
    for (int row = 0; row < kHeight; ++row) {
      // A tick where a power of ten falls into this row.
      std::string tick;
      for (int decade = static_cast<int>(std::ceil(y_[0])); decade <= y_[1]; ++decade) {
        if (row_of(std::pow(10, decade)) == row) tick = with_prefix(std::pow(10, decade), "");
      }
      std::string line = fmt::format("{:>8} |{}", tick, lines_[row]);
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    out += std::string(9, ' ') + "+" + std::string(kWidth, '-') + "\n";
    std::string ticks(kWidth + 10, ' ');
    for (int decade = static_cast<int>(std::ceil(x_[0])); decade <= x_[1]; ++decade) {
      const std::string text = fmt::format("{:g}", std::pow(10, decade));
      const int column = column_of(std::pow(10, decade));
      if (column >= 0 && column < kWidth) ticks.replace(10 + column, text.size(), text);
    }
    ticks.erase(ticks.find_last_not_of(' ') + 1);
    return out + ticks + "\n";
  }

 private:
  std::array<double, 2> x_, y_;
  std::array<std::string, kHeight> lines_;
};

struct Roofs {
  std::map<int, Ceiling> memory;  ///< by level_rank
  std::map<std::string, Ceiling> compute;
};

/// The fastest read of each level and the best rate of each dtype and unit.
Roofs roofs_of(const std::vector<Ceiling>& ceilings, const std::string& device, int threads) {
  Roofs roofs;
  const auto keep = [](auto& map, const auto& key, const Ceiling& c) {
    const auto [found, fresh] = map.try_emplace(key, c);
    if (!fresh && is_better_roof(c, found->second)) found->second = c;
  };
  for (const Ceiling& c : ceilings) {
    const bool here = c.device == device && (device != "cpu" || c.threads == threads);
    if (!here || std::isnan(c.measured) || !limits(ceilings, c)) continue;
    if (c.resource == "compute") keep(roofs.compute, c.dtype + " " + c.exec_unit, c);
    if (c.resource == "bandwidth" && c.operation == "read") {
      keep(roofs.memory, level_rank(c.level), c);
    }
  }
  return roofs;
}

/// L1 -> '1', DRAM -> 'D'.
char slope_mark(const std::string& level) {
  if (level.empty()) return '/';
  return level.size() == 2 && level[0] == 'L' ? level[1] : level[0];
}

/// The items behind `title` in lines of some 100 characters; empty without any.
std::string in_lines(const std::string& title, const std::vector<std::string>& items) {
  constexpr std::size_t kWide = 100;
  std::string out, line = title;
  for (const std::string& item : items) {
    if (line.size() > title.size() && line.size() + item.size() > kWide) {
      out += line + "\n";
      line = std::string(title.size(), ' ');
    }
    line += " " + item + (&item == &items.back() ? "" : ",");
  }
  return items.empty() ? std::string() : out + line + "\n";
}

std::string chart(const Roofs& roofs, const std::vector<Row>& points) {
  std::vector<double> xs, ys;
  for (const Row& row : points) {
    xs.push_back(row.intensity);
    ys.push_back(row.flops_per_s);
  }
  double top = 0;
  for (const auto& [unit, c] : roofs.compute) {
    top = std::max(top, c.measured);
    ys.push_back(c.measured);
    for (const auto& [rank, m] : roofs.memory) xs.push_back(c.measured / m.measured);
  }
  if (xs.empty() || ys.empty()) return "No points and no ridge: nothing to draw.\n";
  const auto [x0, x1] = std::minmax_element(xs.begin(), xs.end());
  const auto [y0, y1] = std::minmax_element(ys.begin(), ys.end());
  Chart chart(*x0 / 3, *x1 * 3, *y0 / 2, *y1 * 2);
  double fastest = 0;
  std::string slopes;
  for (const auto& [rank, m] : roofs.memory) {
    fastest = std::max(fastest, m.measured);
    const char mark = slope_mark(m.level);
    slopes += fmt::format("  {} {} {}", mark, printable(m.level), with_prefix(m.measured, "B/s"));
    for (int column = 0; column < Chart::kWidth; ++column) {
      const double y = chart.x_at(column) * m.measured;
      if (top == 0 || y < top) chart.put(column, chart.row_of(y), mark);
    }
  }
  std::vector<Ceiling> flats;
  for (const auto& [unit, c] : roofs.compute) flats.push_back(c);
  std::sort(flats.begin(), flats.end(), [](auto& a, auto& b) { return a.measured > b.measured; });
  std::vector<std::string> peaks;
  for (const Ceiling& c : flats) {
    const int row = chart.row_of(c.measured);
    for (int column = 0; column < Chart::kWidth; ++column) {
      if (chart.x_at(column) * fastest >= c.measured) chart.put(column, row, '-');
    }
    peaks.push_back(fmt::format("{} {} {}", printable(c.dtype), printable(c.exec_unit),
                                with_prefix(c.measured, rate_unit("compute", c.dtype))));
  }
  std::map<std::string, char> marks;
  std::string kernels, used = "DH";  // what slopes are made of
  for (const Row& row : points) {
    if (!marks.contains(row.kernel)) {
      // The first letter, or the next that no other kernel has.
      const std::string name = printable(row.kernel);
      const std::string letters = name + "abcdefghijklmnopqrstuvwxyz";
      const auto free = std::find_if(letters.begin(), letters.end(), [&](unsigned char c) {
        return std::isalpha(c) && used.find(static_cast<char>(c)) == std::string::npos;
      });
      const char mark = free == letters.end() ? '*' : *free;
      marks[row.kernel] = mark;
      used += mark;
      kernels += fmt::format("  {} {}", mark, name.substr(0, 40));
    }
    chart.put(chart.column_of(row.intensity), chart.row_of(row.flops_per_s), marks[row.kernel]);
  }
  return "FLOP/s\n" + chart.str() + std::string(10, ' ') +
         "FLOP per byte that crosses the level which bounds it\n" + "points:" + kernels +
         "\nslopes:" + slopes + "\n" + in_lines("peaks: ", peaks);
}

}  // namespace

std::string text_report(const fs::path& results_dir) {
  std::error_code fault;
  if (!fs::is_directory(results_dir, fault)) {
    throw BadInput(fmt::format("{}: no such results folder", results_dir.string()));
  }
  const auto path_of = [&](const char* name) -> std::optional<fs::path> {
    return fs::exists(results_dir / name, fault) ? std::optional(results_dir / name) : std::nullopt;
  };
  const auto ceilings_csv = path_of("ceilings.csv"), roofline_csv = path_of("roofline.csv");
  if (!ceilings_csv && !roofline_csv) {
    throw BadInput(fmt::format("{}: neither ceilings.csv nor roofline.csv", results_dir.string()));
  }
  std::vector<Ceiling> ceilings;
  if (ceilings_csv) ceilings = read_ceilings(*ceilings_csv);
  std::vector<Row> rows;
  if (roofline_csv) rows = bounding(read_rows(*roofline_csv));

  std::string out = results_dir.string() + "\n";
  for (const std::string& line : run_notes(results_dir)) out += line + "\n";
  out += "\n";
  out += ceilings_csv ? ceilings_summary(ceilings) : "no ceilings.csv: no roofs\n";
  if (!roofline_csv) out += "no roofline.csv: no kernels\n";
  std::set<std::string> devices;
  for (const Ceiling& c : ceilings) devices.insert(c.device);
  for (const Row& row : rows) devices.insert(row.device);
  for (const std::string& device : devices) {
    const int threads = threads_of(ceilings, rows, device);
    const auto shown = shown_threads(rows, device, threads);
    std::vector<Row> points;
    std::set<std::string> on_fewer;
    std::size_t refused = 0;
    for (const Row& row : rows) {
      if (row.device != device || !is_shown(row, shown)) continue;
      if (is_refused(row.verdict)) {
        ++refused;
      } else if (row.intensity > 0 && row.flops_per_s > 0) {
        points.push_back(row);
        const std::string other = other_threads(row, threads);
        if (!other.empty()) on_fewer.insert(printable(row.kernel + " " + row.dtype + other));
      }
    }
    out += fmt::format(
        "\n{}{}\n", printable(device),
        device != "cpu" ? "" : fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s"));
    out += chart(roofs_of(ceilings, device, threads), points);
    out += in_lines("other threads: ", {on_fewer.begin(), on_fewer.end()});
    if (refused > 0) {
      out += fmt::format("{} not drawn, faster than their own roof: see roofline.csv\n", refused);
    }
    out += "\n" + best_kernels(rows, device, shown, threads);
  }
  return out;
}

}  // namespace roofline
