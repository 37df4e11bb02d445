#include "roofline/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "roofline/base/schema.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/results/quiet.hpp"

namespace roofline {
namespace {

/// Counted over modelled work that are taken for the same.
constexpr double kBytesAgree = 0.03, kFlopsAgree = 0.01;

/// What tells a ceiling from others of its resource and unit.
std::string place_of(const Ceiling& c) {
  if (c.resource == "compute") return c.dtype;
  const bool by_operation = c.resource == "link" || c.level == "launch" || is_of_pages(c);
  return by_operation ? fmt::format("{} {}", c.level, c.operation) : c.level;
}

/// By level, however often one was measured; else as in ceilings.csv.
std::vector<Ceiling> in_order(std::vector<Ceiling> ceilings) {
  const auto order = [](const Ceiling& c) {
    return std::make_tuple(c.device, c.resource != "compute", c.resource, is_of_pages(c),
                           c.operation, c.dtype, c.exec_unit, c.threads, level_rank(c.level));
  };
  std::stable_sort(ceilings.begin(), ceilings.end(),
                   [&](const Ceiling& a, const Ceiling& b) { return order(a) < order(b); });
  return ceilings;
}

/// The point to show of each work, in the order of their first ones: none that is refused where
/// there is another, of ours before libraries, the fastest.
std::vector<const Point*> best_of_each_work(const std::vector<Point>& points) {
  std::vector<const Point*> out;
  std::map<Benchmark::Work, std::size_t> places;
  const auto key = [](const Point& p) {
    return std::make_tuple(is_refused(p.verdict), !p.benchmark->library.empty(), p.time_s);
  };
  for (const Point& point : points) {
    const Benchmark& row = *point.benchmark;
    if (!row.part.empty()) continue;
    const auto [found, fresh] = places.try_emplace(row.work(), out.size());
    if (fresh)
      out.push_back(&point);
    else if (key(point) < key(*out[found->second]))
      out[found->second] = &point;
  }
  return out;
}

std::vector<std::string> kernel_row(const Point& point, Stars& stars) {
  const Benchmark& row = *point.benchmark;
  std::string name = fmt::format("{}/{}", row.kernel, row.dtype);
  if (!row.shape.empty()) name += "/" + row.shape;
  if (!row.temperature.empty()) name += "/" + row.temperature;
  name += row.device == "gpu" ? "/gpu" : fmt::format("/{}T", row.threads);
  return {printable(name),
          row.variant.empty() ? "-" : printable(row.variant),
          with_prefix(point.time_s, "s") + stars.of(point.verdict),
          with_prefix(point.achieved_flops_per_s, rate_unit("compute", row.dtype)),
          with_prefix(row.bytes / point.time_s, "B/s"),
          point.bound_by.empty() ? "-" : point.bound_by,
          is_refused(point.verdict) ? point.verdict : percent(point.t_lower_s / point.time_s),
          overlap_words(point),
          beside_library(point.peer_ratio, point.peer)};
}

/// Lines on what is refused, has no roof, or has another one than its own.
std::string faults_of(const std::vector<Point>& points) {
  std::map<std::string, std::size_t> faults, stand_ins;
  const Benchmark* last = nullptr;
  std::size_t guessed = 0;  // held against the main memory for want of a working set
  for (const Point& point : points) {
    const Benchmark& row = *point.benchmark;
    if (is_refused(point.verdict)) ++faults[point.verdict];
    if (point.verdict == "no-roof") {
      ++faults["no-roof" + (point.missing.empty() ? "" : fmt::format(" ({})", point.missing))];
    }
    if (&row != last && point.bound_by == "compute" && !point.stand_in.empty())
      ++stand_ins[point.stand_in];
    last = &row;
    guessed += point.verdict == "above-roof" && is_main_memory(point.level) &&
               row.temperature != "cold" && std::isnan(row.working_set_bytes);
  }
  std::string out;
  for (const auto& [verdict, count] : faults) {
    out += fmt::format("{} row{} with verdict {}\n", count, count == 1 ? "" : "s", verdict);
  }
  for (const auto& [words, count] : stand_ins) {
    out += fmt::format("{} ({} benchmark{})\n", words, count, count == 1 ? "" : "s");
  }
  if (guessed > 0) {
    out += fmt::format(
        "{} above the main memory's roof do not tell their size: a counter working_set_bytes, or "
        "analyze --level, names the cache that holds them\n",
        guessed);
  }
  return out;
}

}  // namespace

std::string ceilings_summary(const std::vector<Ceiling>& all) {
  const std::vector<Ceiling> ceilings = in_order(all);
  std::vector<std::vector<std::string>> rows = {{"ceiling", "level or dtype", "unit", "threads",
                                                 "advertised", "theory", "measured", "of theory",
                                                 "quiet", "as lived", "verdict"}};
  std::size_t left_out = 0;
  std::string causes;
  for (const Ceiling& c : ceilings) {
    if (hidden(ceilings, c)) continue;
    const bool quiet = c.condition.ends_with("quiet");
    const Ceiling* lived = under(ceilings, c, "as-lived");
    if (c.resource == "bandwidth" && c.operation != "read" && !is_of_pages(c)) {
      ++left_out;
      continue;
    }
    if (!c.cause.empty()) causes += fmt::format("  {} {}: {}\n", c.device, c.id(), c.cause);
    const std::string unit = rate_unit(c.resource, c.dtype);
    rows.push_back({fmt::format("{} {}", c.device, c.resource), place_of(c), c.exec_unit,
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
  const std::vector<const Point*> best = best_of_each_work(points);
  if (best.empty()) return "No kernels.\n";
  Stars stars;
  std::vector<std::vector<std::string>> rows = {{"kernel", "best variant", "time", "achieved",
                                                 "bandwidth", "bound by", "of roof", "overlap",
                                                 "vs best library"}};
  for (const Point* point : best) rows.push_back(kernel_row(*point, stars));
  return aligned(rows, 2) + stars.lines() + faults_of(points);
}

std::string counters_summary(const std::vector<Point>& counted) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<double, const Benchmark*>>> ratios;  // by what
  const auto add = [&](const std::string& what, double ratio, const Benchmark& row) {
    if (!std::isfinite(ratio)) return;
    if (!ratios.contains(what)) order.push_back(what);
    ratios[what].emplace_back(ratio, &row);
  };
  const Benchmark* last = nullptr;
  for (const Point& point : counted) {
    const Benchmark& row = *point.benchmark;
    if (&row != last) add("FLOP", row.counted_flops / row.flops, row);
    last = &row;
    for (const auto& [level, bytes] : row.level_bytes) {
      if (level == point.level) add(level, point.bytes / bytes, row);
    }
  }
  std::string out;
  for (const std::string& what : order) {
    auto& all = ratios[what];
    const double tolerance = what == "FLOP" ? kFlopsAgree : kBytesAgree;
    const auto agree = std::count_if(all.begin(), all.end(), [&](const auto& item) {
      return std::abs(item.first - 1) <= tolerance;
    });
    const auto [ratio, row] = *std::max_element(all.begin(), all.end(), [](auto& a, auto& b) {
      return std::abs(std::log(a.first)) < std::abs(std::log(b.first));
    });
    out += fmt::format("  {}: {} of {} within {:g} % of the model, furthest {:.4g} times it: {}\n",
                       what == "FLOP" ? what : what + " bytes", agree, all.size(), 100 * tolerance,
                       ratio, row->name);
  }
  return out.empty() ? out : "Hardware counters:\n" + out;
}

std::string wanting_samples(const std::vector<Benchmark>& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, const Benchmark*> last;  // attempts
  for (const Benchmark& row : rows) {
    const Benchmark*& known = last[{row.device, row.name, row.roof_of}];
    if (!known || known->attempt < row.attempt) known = &row;
  }
  const auto wanting = std::count_if(last.begin(), last.end(),
                                     [](const auto& item) { return wants_samples(*item.second); });
  if (wanting == 0) return {};
  return fmt::format(
      "{} of {} benchmarks and probes had fewer than {} quiet samples, or samples that disagree",
      wanting, last.size(), kFewestQuiet);
}

std::string samples_summary(const std::vector<Benchmark>& rows, double rounds_s) {
  const std::string wanting = wanting_samples(rows);
  if (wanting.empty()) return {};
  return fmt::format("{}, when their further rounds ({:g} s in all) were spent\n", wanting,
                     rounds_s);
}

std::string skips_summary(const std::vector<SkippedRow>& skipped) {
  std::map<std::string, std::pair<std::size_t, std::string>> reasons;
  for (const SkippedRow& row : skipped) {
    auto& [count, example] = reasons[row.reason];
    if (count++ == 0) example = row.name;
  }
  std::string out;
  for (const auto& [reason, known] : reasons) {
    const auto& [count, example] = known;
    out += count == 1 ? fmt::format("skipped {}: {}\n", printable(example), printable(reason))
                      : fmt::format("skipped {} benchmarks, such as {}: {}\n", count,
                                    printable(example), printable(reason));
  }
  return out;
}

}  // namespace roofline
