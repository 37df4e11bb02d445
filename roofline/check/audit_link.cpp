#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "roofline/check/audits.hpp"

namespace roofline::check {
namespace {

Finding width(const Box& box) {
  Finding out{Grade::kUnknown, "pcie-width", "PCIe width", {"gpu/link"}};
  const double lanes = box.gpu.number("/pcie_width"), most = box.gpu.number("/pcie_width_max");
  if (std::isnan(lanes) || std::isnan(most)) return out;
  out.grade = lanes < most ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("PCIe x{} of x{}", lanes, most);
  return out;
}

/// Payload and headers of one lane in one direction, bytes/s (PCI-SIG: GT/s x coding / 8).
double lane_bytes_per_s(double generation) {
  constexpr double kLane[] = {0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  const auto index = static_cast<std::size_t>(generation) - 1;
  return generation >= 1 && index < std::size(kLane) ? kLane[index] : kUnknownNumber;
}

/// An idle board lowers its generation, and machine.json is from before the run. A link that was
/// measured faster than that generation allows had raised it again.
Finding generation(const Box& box) {
  Finding out{Grade::kUnknown, "pcie-generation", "PCIe generation", {"gpu/link"}};
  const double now = box.gpu.number("/pcie_generation");
  const double most = box.gpu.number("/pcie_generation_max");
  double fastest = kUnknownNumber;
  for (const Ceiling& c : box.ceilings) {
    if (c.device == "gpu" && c.resource == "link") fastest = std::fmax(fastest, c.measured);
  }
  if (std::isnan(now) || std::isnan(most) || (now < most && std::isnan(fastest))) return out;
  const bool idle = fastest > lane_bytes_per_s(now) * box.gpu.number("/pcie_width");
  out.grade = now < most && !idle ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("PCIe generation {} of {}, and no transfer was faster", now, most);
  return out;
}

}  // namespace

std::vector<Finding> audit_link(const Box& box, const std::string& device) {
  if (device == "cpu") return {};
  return {width(box), generation(box)};
}

}  // namespace roofline::check
