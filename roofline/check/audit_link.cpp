#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "roofline/check/audits.hpp"

namespace roofline::check {
namespace {

/// Payload and headers of one lane in one direction, bytes/s (PCI-SIG: GT/s x coding / 8).
double lane_bytes_per_s(double generation) {
  constexpr double kLane[] = {0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
  const bool known = generation >= 1 && generation < 1 + std::size(kLane);
  return known ? kLane[static_cast<std::size_t>(generation) - 1] : kUnknownNumber;
}

/// The least generation that moves `bytes_per_s` over so many lanes; unknown if none does.
double generation_for(double bytes_per_s, double lanes) {
  for (double generation = 1; !std::isnan(lane_bytes_per_s(generation)); ++generation) {
    // Sheets print whole GT/s x lanes / 8, before coding.
    if (bytes_per_s <= 1.02 * lanes * lane_bytes_per_s(generation)) return generation;
  }
  return kUnknownNumber;
}

struct PcieLink {
  double generation = kUnknownNumber, lanes = kUnknownNumber;
};

/// What the board is made for: by its sheet, whose fastest links have 16 lanes. The driver's words
/// for the most there can be are the lower of the board's and the slot's.
PcieLink made_for(const Box& box) {
  PcieLink out{box.gpu.number("/pcie_generation_max"), box.gpu.number("/pcie_width_max")};
  if (!box.chip) return out;
  const double one_way = box.chip->pcie_one_way();
  if (std::isnan(one_way)) return out;
  out.lanes = std::fmax(out.lanes, 16);
  out.generation = std::fmax(out.generation, generation_for(one_way, 16));
  return out;
}

Finding width(const Box& box) {
  Finding out{Grade::kUnknown, "pcie-width", "PCIe width", {"gpu/link"}};
  const double lanes = box.gpu.number("/pcie_width"), most = made_for(box).lanes;
  if (std::isnan(lanes) || std::isnan(most)) return out;
  out.grade = lanes < most ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("PCIe x{} of x{}", lanes, most);
  return out;
}

/// An idle board lowers its generation, and machine.json is from before the run: a transfer that
/// was faster than the generation seen allows tells which one it had risen to.
Finding generation(const Box& box) {
  Finding out{Grade::kUnknown, "pcie-generation", "PCIe generation", {"gpu/link"}};
  const double idle = box.gpu.number("/pcie_generation"), most = made_for(box).generation;
  double fastest = kUnknownNumber;
  for (const Ceiling& c : box.ceilings) {
    if (c.device == "gpu" && c.resource == "link") fastest = std::fmax(fastest, c.measured);
  }
  if (std::isnan(idle) || std::isnan(most) || (idle < most && std::isnan(fastest))) return out;
  const double lanes = box.gpu.number("/pcie_width"), needed = generation_for(fastest, lanes);
  if (!std::isnan(fastest) && !std::isnan(lanes) && std::isnan(needed)) {
    out.grade = Grade::kPass;  // a link of another kind, such as NVLink to the CPU
    return out;
  }
  const double seen = std::fmax(idle, needed);
  out.grade = seen < most ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("PCIe generation {} of {}, and no transfer was faster", seen, most);
  return out;
}

}  // namespace

std::vector<Finding> audit_link(const Box& box, const std::string& device) {
  if (device == "cpu") return {};
  return {width(box), generation(box)};
}

}  // namespace roofline::check
