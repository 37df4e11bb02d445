// A report as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "roofline/base/json_text.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/check/check.hpp"

namespace roofline::check {
namespace {

using nlohmann::json;

std::string unit_of(const Ceiling& c) { return rate_unit(c.resource, c.dtype); }

std::string advertised_of(const Resource& r) {
  std::string out = with_prefix(r.advertised, unit_of(r.measured));
  if (!std::isnan(r.advertised) && !std::isnan(r.advertised_clock_hz)) {
    out += fmt::format(" at {}", with_prefix(r.advertised_clock_hz, "Hz"));
  }
  return out;
}

std::string measured_of(const Resource& r) {
  const Ceiling& c = r.measured;
  std::string out = with_prefix(c.measured, unit_of(c));
  if (!std::isnan(c.measured_low) && !std::isnan(c.measured_high)) {
    out += fmt::format(" [{:+.0f} {:+.0f} %]", 100 * (c.measured_low / c.measured - 1),
                       100 * (c.measured_high / c.measured - 1));
  }
  return out;
}

std::string typical_of(const Resource& r) {
  if (r.typical_runs == 0) return "-";
  return fmt::format("{} ({})", with_prefix(r.typical, unit_of(r.measured)), r.typical_runs);
}

/// FLOP, OP or bytes that a dollar buys: what is measured, times 3600 s, over dollars an hour. NaN
/// of a latency, and without a price.
double per_dollar(const Report& report, const Resource& r) {
  if (r.measured.resource == "latency") return kUnknownNumber;
  return r.measured.measured * 3600 / report.price_per_hour;
}

std::string per_dollar_of(const Report& report, const Resource& r) {
  std::string unit = unit_of(r.measured);
  return with_prefix(per_dollar(report, r), unit.substr(0, unit.find("/s")));
}

std::string resource_table(const Report& report) {
  std::vector<std::vector<std::string>> rows = {
      {"resource", "verdict", "advertised", "theory at clock", "measured [95 %]", "typical (runs)",
       "of adv.", "of theory", "of typical"}};
  const bool priced = !std::isnan(report.price_per_hour);
  if (priced) rows[0].push_back("a dollar buys");
  for (const Resource& r : report.resources) {
    const Ceiling& c = r.measured;
    rows.push_back({printable(r.name()), std::string(word(r.verdict)), advertised_of(r),
                    with_prefix(c.theory_at_clock, unit_of(c)), measured_of(r), typical_of(r),
                    percent(r.of_advertised), percent(r.of_theory), percent(r.of_typical)});
    if (priced) rows.back().push_back(per_dollar_of(report, r));
  }
  return aligned(rows, 2);
}

std::string gap_text(const Resource& r) {
  std::vector<std::string> parts;
  for (const Factor& factor : r.gap) {
    parts.push_back(fmt::format("{} {}", percent(factor.share), factor.text));
  }
  return fmt::format("{} of advertised = {}", percent(r.of_advertised), fmt::join(parts, " x "));
}

std::string causes_text(const Report& report) {
  std::string out;
  for (const Resource& r : report.resources) {
    if (r.verdict < Grade::kWarn) continue;
    out +=
        fmt::format("{} {}: {}\n", word(r.verdict), printable(r.name()), fmt::join(r.causes, ", "));
    if (!r.measured.cause.empty()) out += fmt::format("     {}\n", printable(r.measured.cause));
    if (!r.gap.empty()) out += fmt::format("     {}\n", gap_text(r));
  }
  return out;
}

std::string findings_text(const Report& report) {
  std::string out;
  for (const Grade grade : {Grade::kFail, Grade::kWarn, Grade::kNote}) {
    for (const Finding& finding : report.findings) {
      if (finding.grade != grade) continue;
      out += fmt::format("{} {}: {}\n", word(grade), finding.name, printable(finding.text));
    }
  }
  return out;
}

std::string unknown_text(const Report& report) {
  std::vector<std::string> names;
  for (const Finding& finding : report.findings) {
    if (finding.grade == Grade::kUnknown) names.push_back(finding.text);
  }
  return names.empty() ? "" : fmt::format("not known: {}\n", fmt::join(names, ", "));
}

std::string sources_text(const Report& report) {
  std::set<std::string> sources;
  for (const Resource& r : report.resources) {
    if (!std::isnan(r.advertised)) sources.insert(r.advertised_source);
  }
  return sources.empty() ? "" : fmt::format("advertised: {}\n", fmt::join(sources, "; "));
}

json of_resource(const Report& report, const Resource& r) {
  const Ceiling& c = r.measured;
  json gap = json::array();
  for (const Factor& factor : r.gap) {
    gap.push_back({{"share", known(factor.share)}, {"text", factor.text}});
  }
  return {{"key", r.key()},
          {"id", c.id()},
          {"device", c.device},
          {"resource", c.resource},
          {"level", known(c.level)},
          {"operation", c.operation},
          {"dtype", c.dtype},
          {"exec_unit", known(c.exec_unit)},
          {"threads", c.threads},
          {"condition", known(c.condition)},
          {"advertised", known(r.advertised)},
          {"advertised_source", known(r.advertised_source)},
          {"advertised_clock_hz", known(r.advertised_clock_hz)},
          {"theory_at_clock", known(c.theory_at_clock)},
          {"clock_hz", known(c.clock_hz)},
          {"measured", known(c.measured)},
          {"measured_low", known(c.measured_low)},
          {"measured_high", known(c.measured_high)},
          {"typical", known(r.typical)},
          {"typical_runs", r.typical_runs},
          {"of_advertised", known(r.of_advertised)},
          {"of_theory", known(r.of_theory)},
          {"of_typical", known(r.of_typical)},
          {"per_dollar", known(per_dollar(report, r))},
          {"gap", gap},
          {"verdict", word(r.verdict)},
          {"causes", r.causes},
          {"ceiling_cause", known(r.measured.cause)}};
}

}  // namespace

std::string text_of(const Report& report) {
  std::string out = fmt::format("machine  {}\n", printable(report.machine));
  if (!report.gpu.empty()) out += fmt::format("GPU      {}\n", printable(report.gpu));
  out += fmt::format("folder   {}\nverdict  {}\n", printable(report.folder), word(report.verdict));
  for (const std::string& line : report.run) out += fmt::format("run      {}\n", line);
  if (!std::isnan(report.price_per_hour))
    out += fmt::format("price    ${:.4g} an hour\n", report.price_per_hour);
  out += "\n" + resource_table(report);
  for (const std::string& part :
       {causes_text(report), findings_text(report), sources_text(report) + unknown_text(report)}) {
    if (!part.empty()) out += "\n" + part;
  }
  for (const std::string& note : report.notes) out += fmt::format("note: {}\n", printable(note));
  return out;
}

json json_of(const Report& report) {
  json out = {{"machine", report.machine},
              {"gpu", report.gpu.empty() ? json(nullptr) : json(report.gpu)},
              {"folder", report.folder},
              {"verdict", word(report.verdict)},
              {"price_per_hour", known(report.price_per_hour)},
              {"resources", json::array()},
              {"findings", json::array()},
              {"run", report.run},
              {"notes", report.notes}};
  for (const Resource& r : report.resources) out["resources"].push_back(of_resource(report, r));
  for (const Finding& f : report.findings) {
    out["findings"].push_back({{"device", f.device},
                               {"name", f.name},
                               {"grade", word(f.grade)},
                               {"text", f.text},
                               {"explains", f.explains}});
  }
  return out;
}

}  // namespace roofline::check
