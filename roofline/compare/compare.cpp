#include "roofline/compare/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "roofline/base/error.hpp"
#include "roofline/check/facts.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::compare {
namespace {

using nlohmann::json;
using Figures = std::map<std::string, Figure> Run::*;

bool in_all(const std::vector<Run>& runs, Figures figures, const std::string& name) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return (run.*figures).contains(name); });
}

/// Geometric, as the ratio of two sides is the mean of logarithms.
double mean_value(const std::vector<Run>& runs, Figures figures, const std::string& name) {
  double logs = 0;
  for (const Run& run : runs) logs += std::log((run.*figures).at(name).value);
  return std::exp(logs / static_cast<double>(runs.size()));
}

/// Logarithms of the speed, by one field of the figures.
std::vector<double> speeds(const std::vector<Run>& runs, Figures figures, const std::string& name,
                           double Figure::*field) {
  std::vector<double> out;
  for (const Run& run : runs) {
    const Figure& figure = (run.*figures).at(name);
    const double log = std::log(figure.*field);
    out.push_back(figure.is_time ? -log : log);
  }
  return out;
}

/// Squared standard error of the side's mean.
double variance(const std::vector<Run>& runs, Figures figures, const std::string& name) {
  double sum = 0;
  for (const Run& run : runs) sum += std::pow((run.*figures).at(name).log_error, 2);
  return sum / std::pow(static_cast<double>(runs.size()), 2);
}

bool few_quiet(const std::vector<Run>& runs, Figures figures, const std::string& name) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return (run.*figures).at(name).few_quiet; });
}

std::set<std::string> names_of(const std::vector<Run>& runs, Figures figures) {
  std::set<std::string> out;
  for (const Run& run : runs) {
    for (const auto& [name, figure] : run.*figures) out.insert(name);
  }
  return out;
}

void collect(const std::vector<Run>& a, const std::vector<Run>& b, Figures figures,
             const char* kind, Comparison& out, std::vector<Quantity>& quantities) {
  std::set<std::string> names = names_of(a, figures);
  names.merge(names_of(b, figures));
  for (const std::string& name : names) {
    const bool in_a = in_all(a, figures, name), in_b = in_all(b, figures, name);
    if (!in_a) ++out.only_b;
    if (!in_b) ++out.only_a;
    if (!in_a || !in_b) continue;
    quantities.push_back(
        {.a = speeds(a, figures, name, &Figure::value),
         .b = speeds(b, figures, name, &Figure::value),
         .best_a = speeds(a, figures, name, &Figure::best),
         .best_b = speeds(b, figures, name, &Figure::best),
         .error = std::sqrt(variance(a, figures, name) + variance(b, figures, name)),
         .in_core = (a.front().*figures).at(name).in_core});
    Entry entry;
    entry.kind = kind;
    entry.name = name;
    entry.unit = (a.front().*figures).at(name).unit;
    entry.a = mean_value(a, figures, name);
    entry.b = mean_value(b, figures, name);
    entry.few_quiet_a = few_quiet(a, figures, name);
    entry.few_quiet_b = few_quiet(b, figures, name);
    out.entries.push_back(std::move(entry));
  }
}

constexpr std::string_view kThreads = "threads:";

/// At the name's end; 0 if it does not tell.
int threads_of(const std::string& name) {
  const std::size_t at = name.rfind(kThreads);
  return at == std::string::npos ? 0 : std::atoi(name.c_str() + at + kThreads.size());
}

json name_of(const Run& run) {
  return run.machine.is_object() ? run.machine.value("name", json()) : json();
}

/// What changes by itself, from one minute to the next.
bool passing(const std::string& field) {
  constexpr std::string_view kPassing[] = {"/memory/free_bytes",
                                           "/memory/usable_bytes",
                                           "/limits/memory_left_bytes",
                                           "/load_avg",
                                           "/state/load_average",
                                           "/state/busy_share",
                                           "/state/steal_fraction_since_boot",
                                           "/date",
                                           "/executable",
                                           "/disagreements",
                                           "/mhz_per_cpu"};
  constexpr std::string_view kPassingOfGpu[] = {"_now_hz",           "_now_w",
                                                "/temperature_c",    "/memory_free_bytes",
                                                "/throttle_reasons", "/pcie_generation"};
  const auto begins = [&](std::string_view start) { return field.starts_with(start); };
  const auto ends = [&](std::string_view end) { return field.ends_with(end); };
  return std::any_of(std::begin(kPassing), std::end(kPassing), begins) ||
         std::any_of(std::begin(kPassingOfGpu), std::end(kPassingOfGpu), ends);
}

void add_changes(const json& a, const json& b, std::vector<Change>& out) {
  const json flat_a = a.flatten(), flat_b = b.flatten();
  std::set<std::string> fields;
  for (const json* flat : {&flat_a, &flat_b}) {
    if (!flat->is_object()) continue;
    for (const auto& [field, value] : flat->items()) fields.insert(field);
  }
  for (const std::string& field : fields) {
    const json in_a = flat_a.value(field, json()), in_b = flat_b.value(field, json());
    if (in_a != in_b && !passing(field)) out.push_back({field.substr(1), in_a, in_b});
  }
}

/// What the runs of a side differ in and should not.
void add_mixed(const char* side, const std::vector<Run>& runs, std::vector<std::string>& out) {
  for (const char* field : kOfRun) {
    std::set<std::string> found;
    for (const Run& run : runs) {
      for (const json& value : run.context.value(field, json())) {
        if (value.is_string()) found.insert(value);
      }
    }
    if (found.size() > 1) {
      out.push_back(
          fmt::format("the runs of {} differ in {}: {}", side, field, fmt::join(found, ", ")));
    }
  }
}

check::Facts facts_of(const Run& run) { return {run.machine, run.folder + "/machine.json"}; }

Limits limits_for(const std::vector<Run>& a, const std::vector<Run>& b) {
  const check::Thresholds& known = check::Thresholds::get();
  const bool is_virtual = facts_of(a.front()).is_virtual() || facts_of(b.front()).is_virtual();
  return {known.limit("family_error"),
          known.limit("minimum_effect"),
          known.limit(is_virtual ? "spread_virtual" : "spread"),
          known.limit(is_virtual ? "core_spread_virtual" : "spread"),
          known.limit(is_virtual ? "whole_spread_virtual" : "whole_spread"),
          name_of(a.front()) == name_of(b.front())};
}

/// Of the CPU's names: what a GPU runs bears one thread, on any machine.
constexpr std::string_view kCpu = "cpu ";

/// All that the runs could use, as machine.json tells; without that the most of any name.
int all_threads(const std::vector<Run>& runs) {
  int most = 0;
  for (const Run& run : runs) {
    const double usable = facts_of(run).number("/usable/threads");
    if (usable >= 1) return static_cast<int>(usable);
    for (const auto* figures : {&run.ceilings, &run.benchmarks}) {
      for (const auto& [name, figure] : *figures) {
        if (name.starts_with(kCpu)) most = std::max(most, threads_of(name));
      }
    }
  }
  return most;
}

/// `name` with "all" for its threads. Behind these a program's part has its name, and a user's
/// benchmark may have what else it tells.
std::string of_all_cores(const std::string& name) {
  const std::size_t count = name.rfind(kThreads) + kThreads.size();
  const std::size_t end = std::min(name.find_first_not_of("0123456789", count), name.size());
  return name.substr(0, count) + "all" + name.substr(end);
}

/// All cores of one machine go with all of the other, however many each has.
void name_all_cores(std::vector<Run>& runs, int all) {
  const auto renamed = [all](const std::map<std::string, Figure>& figures) {
    std::map<std::string, Figure> out;
    for (const auto& [name, figure] : figures) {
      const bool is_all = name.starts_with(kCpu) && threads_of(name) == all;
      out[is_all ? of_all_cores(name) : name] = figure;
    }
    return out;
  };
  for (Run& run : runs) {
    run.ceilings = renamed(run.ceilings);
    run.benchmarks = renamed(run.benchmarks);
  }
}

}  // namespace

bool Comparison::any_below(double ratio) const {
  if (outcome.whole.real && outcome.whole.ratio.value < ratio) return true;
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
    const Difference& found = entry.difference;
    return found.real && std::max(found.own.value, found.ratio.value) < ratio;
  });
}

Comparison compare(const std::string& name_a, std::vector<Run> a, const std::string& name_b,
                   std::vector<Run> b) {
  Comparison out;
  out.a = name_a;
  out.b = name_b;
  out.runs_a = a.size();
  out.runs_b = b.size();
  out.limits = limits_for(a, b);
  if (const int all_a = all_threads(a), all_b = all_threads(b); all_a != all_b) {
    name_all_cores(a, all_a);
    name_all_cores(b, all_b);
  }
  std::vector<Quantity> quantities;
  collect(a, b, &Run::ceilings, "ceiling", out, quantities);
  collect(a, b, &Run::benchmarks, "benchmark", out, quantities);
  if (quantities.empty()) {
    throw BadInput(
        fmt::format("{} and {} have no ceiling and no benchmark in common", name_a, name_b));
  }
  out.outcome = differences(quantities, out.limits);
  for (std::size_t i = 0; i < out.entries.size(); ++i) {
    out.entries[i].difference = out.outcome.each[i];
  }
  out.outcome.each.clear();
  add_mixed("A", a, out.mixed);
  add_mixed("B", b, out.mixed);
  add_changes(a.front().machine, b.front().machine, out.changes);
  add_changes(a.front().context, b.front().context, out.changes);
  return out;
}

}  // namespace roofline::compare
