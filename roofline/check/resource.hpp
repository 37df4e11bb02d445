// One resource of a machine: what it should give, what it gives, and whether that will do.
#pragma once

#include <string>
#include <vector>

#include "roofline/check/box.hpp"
#include "roofline/check/finding.hpp"

namespace roofline::check {

/// One reason why a figure is below what is advertised; the product over a resource's factors is
/// measured / advertised.
struct Factor {
  double share = kUnknownNumber;
  std::string text;  ///< "SMs (114 of 132)"
};

struct Resource {
  Ceiling measured;  ///< with its theory
  double advertised = kUnknownNumber;
  std::string advertised_source;
  double advertised_clock_hz = kUnknownNumber;  ///< that the advertised figure assumes
  double typical = kUnknownNumber;              ///< median over other runs of the same machine
  int typical_runs = 0;
  /// Of each reference; better is larger, for latencies too. NaN without the reference.
  double of_advertised = kUnknownNumber, of_theory = kUnknownNumber, of_typical = kUnknownNumber;
  std::vector<Factor> gap;  ///< empty where nothing is advertised
  Grade verdict = Grade::kUnknown;
  std::vector<std::string> causes;  ///< names of findings, or what is doubtful in the measurement

  /// "gpu/compute/bf16/wgmma", "cpu/bandwidth/L3/read": what Finding::explains is held against.
  std::string key() const;
  /// "gpu bf16 wgmma", "cpu L3 read", for people.
  std::string name() const;
};

/// Whether two boxes' rows are of one resource, measured the same way.
bool same_resource(const Ceiling& a, const Ceiling& b);

/// measured / reference, of a latency the inverse: better is larger.
double share_of(const Ceiling& c, double measured, double reference);

/// Every precision's peak, the reads of every memory level, latencies and links; peaks and
/// bandwidths on all cores, latencies on one. `others` are boxes of the same machine.
std::vector<Resource> judge(const Box& box, const std::vector<Box>& others);

/// advertised -> fewer units -> lower clock -> the rest.
std::vector<Factor> take_apart(const Box& box, const Resource& resource);

}  // namespace roofline::check
