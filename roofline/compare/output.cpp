// A comparison as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/compare/compare.hpp"

namespace roofline::compare {
namespace {

using nlohmann::json;

std::string shown(const Ratio& r) {
  if (std::isnan(r.low) || std::isnan(r.high)) return fmt::format("{:.3f}", r.value);
  return fmt::format("{:.3f} [{:.3f} {:.3f}]", r.value, r.low, r.high);
}

/// The real differences first, the slowest ahead.
std::vector<Entry> sorted(const Comparison& comparison, const char* kind, bool all) {
  std::vector<Entry> out;
  std::copy_if(comparison.entries.begin(), comparison.entries.end(), std::back_inserter(out),
               [&](const Entry& e) { return e.kind == kind && (all || e.difference.real); });
  std::stable_sort(out.begin(), out.end(), [](const Entry& x, const Entry& y) {
    if (x.difference.real != y.difference.real) return x.difference.real;
    return x.difference.real && x.difference.own.value < y.difference.own.value;
  });
  return out;
}

std::string table(const std::vector<Entry>& entries, const char* head) {
  std::vector<std::vector<std::string>> rows = {
      {head, "", "A", "B", "B/A [95 %]", "own [95 %]", "p"}};
  Stars stars;
  const auto star = [&](bool few_quiet) { return few_quiet ? stars.of("not-quiet") : ""; };
  for (const Entry& e : entries) {
    const Difference& d = e.difference;
    rows.push_back({printable(e.name), d.real ? "REAL" : "",
                    with_prefix(e.a, e.unit) + star(e.few_quiet_a),
                    with_prefix(e.b, e.unit) + star(e.few_quiet_b), shown(d.ratio), shown(d.own),
                    fmt::format("{:.2g}", d.p)});
  }
  return aligned(rows, 2) + stars.lines();
}

std::string test_text(const Comparison& c) {
  const Outcome& o = c.outcome;
  const std::string beyond = fmt::format("p < {:g}{} and more than {:g} %", c.limits.family_error,
                                         c.limits.alike ? " after Holm's correction" : " each",
                                         100 * c.limits.minimum_effect);
  if (o.method == Method::kMannWhitney) {
    return fmt::format("exact Mann-Whitney over runs; real: {}", beyond);
  }
  if (o.method == Method::kSpreadOfAll) {
    return fmt::format(
        "Student's t (3 degrees) on a spread of {:.1f} %, that of all ratios; real: {}\n"
        "       only what is slower than B/A = {:.2g} can be found; several runs a side find more",
        100 * o.spread, beyond, o.smallest);
  }
  return fmt::format(
      "Student's t (3 degrees) on a spread of {:.1f} % in a core (peaks, L1, L2) and {:.1f} % "
      "elsewhere, usual between runs on such a host; real: {}\n"
      "       only what is slower than B/A = {:.2g} and {:.2g} can be found; several runs a side "
      "find more",
      100 * c.limits.core_spread, 100 * o.spread, beyond, o.smallest_in_core, o.smallest);
}

const char* name_of(Method method) {
  switch (method) {
    case Method::kMannWhitney:
      return "mann-whitney";
    case Method::kSpreadOfAll:
      return "spread-of-all";
    case Method::kSpreadByHost:
      return "spread-by-host";
  }
  return "";
}

json of_ratio(const Ratio& r) {
  return {{"value", known(r.value)}, {"low", known(r.low)}, {"high", known(r.high)}};
}

json of_difference(const Difference& d) {
  return {{"ratio", of_ratio(d.ratio)}, {"own", of_ratio(d.own)}, {"p", d.p}, {"real", d.real}};
}

}  // namespace

std::string text_of(const Comparison& c) {
  std::string out = fmt::format("A      {} ({} {})\nB      {} ({} {})\ntest   {}\n", printable(c.a),
                                c.runs_a, c.runs_a == 1 ? "run" : "runs", printable(c.b), c.runs_b,
                                c.runs_b == 1 ? "run" : "runs", test_text(c));
  for (const std::string& line : c.mixed) out += fmt::format("note   {}\n", printable(line));
  out += "\n";
  const auto ceilings = sorted(c, "ceiling", true), benchmarks = sorted(c, "benchmark", false);
  if (!ceilings.empty()) out += table(ceilings, "ceiling") + "\n";
  if (!benchmarks.empty()) out += table(benchmarks, "benchmark") + "\n";
  const auto real = std::count_if(c.entries.begin(), c.entries.end(),
                                  [](const Entry& e) { return e.difference.real; });
  out += fmt::format(
      "{} of {} differences are real (B/A: speed, above 1 B is faster; own: without "
      "what all have in common)\n"
      "A and B are by the first quartile of a run's times, which scatters less than the median of "
      "its CSVs{}\n",
      real, c.entries.size(),
      c.runs_a > 1 || c.runs_b > 1 ? "; of several runs they are geometric means" : "");
  if (!std::isnan(c.outcome.whole.ratio.value)) {
    const Ratio& ratio = c.outcome.whole.ratio;
    const char* verdict = "";
    if (c.outcome.whole.real) {
      verdict = ", REAL";
    } else if (ratio.low > 1 || ratio.high < 1) {
      verdict = ", not decided: several runs a side would tell";
    }
    out += fmt::format("all together: {}{}\n", shown(ratio), verdict);
  }
  if (c.only_a + c.only_b > 0) {
    out +=
        fmt::format("not compared: {} that not every run of A has, {} of B\n", c.only_b, c.only_a);
  }
  if (!c.changes.empty()) out += "\nchanged from A to B:\n";
  for (const Change& change : c.changes) {
    out += fmt::format("  {}: {} -> {}\n", change.field, printable(change.a.dump()),
                       printable(change.b.dump()));
  }
  return out;
}

json json_of(const Comparison& c) {
  json out = {{"a", {{"folder", c.a}, {"runs", c.runs_a}}},
              {"b", {{"folder", c.b}, {"runs", c.runs_b}}},
              {"method", name_of(c.outcome.method)},
              {"spread", known(c.outcome.spread)},
              {"smallest_found", known(c.outcome.smallest)},
              {"smallest_found_in_core", known(c.outcome.smallest_in_core)},
              {"family_error", c.limits.family_error},
              {"minimum_effect", c.limits.minimum_effect},
              {"whole", of_difference(c.outcome.whole)},
              {"not_compared", {{"missing_in_a", c.only_b}, {"missing_in_b", c.only_a}}},
              {"entries", json::array()},
              {"mixed", c.mixed},
              {"changes", json::array()}};
  for (const Entry& e : c.entries) {
    json entry = of_difference(e.difference);
    entry.update({{"kind", e.kind}, {"name", e.name}, {"unit", e.unit}, {"a", e.a}, {"b", e.b}});
    entry.update({{"few_quiet_a", e.few_quiet_a}, {"few_quiet_b", e.few_quiet_b}});
    out["entries"].push_back(std::move(entry));
  }
  for (const Change& change : c.changes) {
    out["changes"].push_back({{"field", change.field}, {"a", change.a}, {"b", change.b}});
  }
  return out;
}

}  // namespace roofline::compare
