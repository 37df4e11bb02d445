#include "roofline/check/resource.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "roofline/base/statistics.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

bool latency(const Ceiling& c) { return c.resource == "latency"; }

/// Whether loads of another width read the same level faster: theory is that of the widest.
bool read_faster_by_another(const Box& box, const Ceiling& c) {
  return std::any_of(box.ceilings.begin(), box.ceilings.end(), [&](const Ceiling& other) {
    return other.resource == c.resource && other.device == c.device && other.level == c.level &&
           other.operation == c.operation && other.threads == c.threads &&
           other.condition == c.condition && other.measured > c.measured;
  });
}

/// Rows that stand for a resource: the conservative condition, all cores, plain reads by the unit
/// that reads fastest.
bool stands_for_a_resource(const Box& box, const Ceiling& c) {
  if (!limits(box.ceilings, c)) return false;
  const int threads = latency(c) ? 1 : most_threads(box.ceilings, c.device);
  if (c.device == "cpu" && c.threads != threads) return false;
  if (c.resource != "bandwidth") return true;
  return c.operation == "read" && !(c.device == "cpu" && read_faster_by_another(box, c));
}

void set_advertised(const Box& box, Resource& resource) {
  const Ceiling& c = resource.measured;
  resource.advertised = c.advertised;
  resource.advertised_source = c.advertised_source;
  if (c.device != "gpu" || !box.chip) return;
  if (c.resource == "compute") {
    const specs::Peak* peak = box.chip->peak(c.dtype, c.exec_unit);
    if (peak) resource.advertised_clock_hz = peak->clock_hz;
  } else if (c.resource == "bandwidth" && c.level == "HBM") {
    resource.advertised_clock_hz = box.chip->memory_clock_hz;
  } else if (c.resource == "link" && (c.operation == "h2d" || c.operation == "d2h")) {
    resource.advertised = box.chip->pcie_one_way();  // which older tables do not have
    if (!std::isnan(resource.advertised)) resource.advertised_source = box.chip->source;
  }
}

void set_typical(const std::vector<Box>& others, Resource& resource) {
  std::vector<double> values;
  for (const Box& other : others) {
    const auto same = [&](const Ceiling& c) { return same_resource(c, resource.measured); };
    const auto found = std::find_if(other.ceilings.begin(), other.ceilings.end(), same);
    if (found != other.ceilings.end()) values.push_back(found->measured);
  }
  resource.typical_runs = static_cast<int>(values.size());
  resource.typical = median(std::move(values));
}

ShareRule question(const Box& box, const Ceiling& c, const char* against) {
  ShareRule out;
  out.against = against;
  out.device = c.device;
  out.resource = c.resource;
  out.level = c.level;
  out.exec_unit = c.exec_unit;
  out.dtype = c.dtype;
  if (c.device == "gpu") out.capability = box.capability.substr(0, box.capability.find('.'));
  out.is_virtual = box.machine.is_virtual();
  return out;
}

/// A FAIL must hold for the whole interval of the median, and on a flat part of the sweep; a WARN
/// for the median alone.
Grade grade_of(const Ceiling& c, double reference, const ShareRule& rule) {
  if (share_of(c, c.measured, reference) >= rule.warn) return Grade::kPass;
  const double best = latency(c) ? c.measured_low : c.measured_high;
  const double at_best = share_of(c, std::isnan(best) ? c.measured : best, reference);
  const bool flat = c.verdict.find("no-plateau") == std::string::npos;
  return flat && at_best < rule.fail ? Grade::kFail : Grade::kWarn;
}

/// A small board may be held below its sheet's clock by the power limit that it is sold with (an L4
/// has 72 W), which is no fault of it where it does what it should at the clock that is left.
bool held_by_own_power_limit(const Box& box, const Resource& resource) {
  const Ceiling& c = resource.measured;
  if (c.device != "gpu" || c.resource != "compute") return false;
  const ShareRule* at_clock = Thresholds::get().share(question(box, c, "theory"));
  if (!at_clock || !at_clock->judged || !(resource.of_theory >= at_clock->warn)) return false;
  const double now = box.gpu.number("/power_limit_w");
  const double usual = box.gpu.number("/power_limit_default_w");
  return now >= Thresholds::get().limit("power_limit_share") * usual &&
         box.gpu_trace.throttled(kPowerCap) > 0;
}

void set_verdict(const Box& box, Resource& resource) {
  const Ceiling& c = resource.measured;
  resource.of_advertised = share_of(c, c.measured, resource.advertised);
  resource.of_theory = share_of(c, c.measured, c.theory_at_clock);
  resource.of_typical = share_of(c, c.measured, resource.typical);
  const auto hold = [&](double reference, const char* against) {
    const ShareRule* rule = Thresholds::get().share(question(box, c, against));
    if (std::isnan(reference) || !rule || !rule->judged) return;
    Grade grade = grade_of(c, reference, *rule);
    // Products are made that have less than their architecture: no proof of a fault.
    const bool by_architecture = c.device == "gpu" && !box.chip && c.resource == "compute";
    if (rule->against == "theory" && by_architecture) grade = std::min(grade, Grade::kWarn);
    if (rule->against == "advertised" && held_by_own_power_limit(box, resource)) {
      grade = std::min(grade, Grade::kWarn);
    }
    if (resource.verdict == Grade::kUnknown || grade > resource.verdict) resource.verdict = grade;
  };
  hold(resource.advertised, "advertised");
  hold(c.theory_at_clock, "theory");
  if (resource.typical_runs >= Thresholds::get().limit("typical_runs")) {
    hold(resource.typical, "typical");
  }
  if (c.verdict == "ok" || c.verdict.empty()) return;
  resource.verdict = std::max(resource.verdict, Grade::kWarn);
  resource.causes.push_back(c.verdict);
}

}  // namespace

bool same_resource(const Ceiling& a, const Ceiling& b) {
  return a.device == b.device && a.id() == b.id() && a.dtype == b.dtype &&
         a.condition == b.condition;
}

double share_of(const Ceiling& c, double measured, double reference) {
  return latency(c) ? reference / measured : measured / reference;
}

std::string Resource::key() const {
  const Ceiling& c = measured;
  if (c.resource == "compute")
    return fmt::format("{}/compute/{}/{}", c.device, c.dtype, c.exec_unit);
  return fmt::format("{}/{}/{}/{}", c.device, c.resource, c.level, c.operation);
}

std::string Resource::name() const {
  const Ceiling& c = measured;
  if (c.resource == "compute") return fmt::format("{} {} {}", c.device, c.dtype, c.exec_unit);
  // Of launches there are several kinds.
  const bool chase = latency(c) && c.level != "launch";
  return fmt::format("{} {} {}", c.device, c.level, chase ? c.resource : c.operation);
}

std::vector<Resource> judge(const Box& box, const std::vector<Box>& others) {
  std::vector<Resource> out;
  for (const Ceiling& c : box.ceilings) {
    if (!stands_for_a_resource(box, c)) continue;
    Resource resource;
    resource.measured = c;
    set_advertised(box, resource);
    set_typical(others, resource);
    set_verdict(box, resource);
    resource.gap = take_apart(box, resource);
    out.push_back(std::move(resource));
  }
  return out;
}

}  // namespace roofline::check
