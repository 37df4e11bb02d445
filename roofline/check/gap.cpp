// The gap between advertised and measured, taken apart.
#include <fmt/format.h>

#include <cmath>

#include "roofline/base/text_table.hpp"
#include "roofline/check/resource.hpp"

namespace roofline::check {
namespace {

/// Leaves the factor out where one side is unknown: it stays in the rest.
void add(std::vector<Factor>& out, const char* what, double seen, double advertised,
         const char* unit) {
  if (std::isnan(seen) || !(advertised > 0)) return;
  const auto shown = [&](double value) {
    return *unit ? with_prefix(value, unit) : fmt::format("{:g}", value);
  };
  out.push_back(
      {seen / advertised, fmt::format("{} ({} of {})", what, shown(seen), shown(advertised))});
}

}  // namespace

std::vector<Factor> take_apart(const Box& box, const Resource& resource) {
  const Ceiling& c = resource.measured;
  std::vector<Factor> out;
  if (c.device != "gpu" || !box.chip || std::isnan(resource.of_advertised)) return out;
  if (c.resource == "compute") {
    add(out, "SMs", box.gpu_sms, box.chip->sms, "");
    add(out, "clock", c.clock_hz, resource.advertised_clock_hz, "Hz");
  } else if (c.resource == "bandwidth") {
    add(out, "bus", box.gpu.number("/memory_bus_bits"), box.chip->memory_bus_bits, "");
    add(out, "memory clock", box.gpu_memory_clock_hz(), resource.advertised_clock_hz, "Hz");
  }
  if (out.empty()) return out;
  double known = 1;
  for (const Factor& factor : out) known *= factor.share;
  out.push_back({resource.of_advertised / known, "the rest"});
  return out;
}

}  // namespace roofline::check
