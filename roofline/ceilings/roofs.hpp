// Limits that nobody has measured: theory from the spec tables, and what vendors advertise.
#pragma once

#include <string>
#include <vector>

#include "roofline/ceilings/ceilings.hpp"
#include "roofline/machine/machine.hpp"
#include "roofline/specs/specs.hpp"

namespace roofline {

/// Theory and advertised figures for this machine's ceilings. `gpu` is the user's choice of GPU by
/// index; empty or a UUID stands for the first one. CPU theory: per-cycle table x observed clock x
/// threads. GPU: FLOP per cycle and SM (of the chip, else of its compute capability) x SMs that the
/// probe saw (else the chip's) x observed clock; L1 by 128 bytes per cycle and SM, HBM by 2 x clock
/// x bus / 8.
CeilingContext context_of(const machine::Machine& machine, const std::string& gpu = "");

/// Independent multiplies that a core of this microarchitecture issues per cycle; NaN where no
/// table tells.
double issue_per_cycle(const std::string& microarchitecture);

/// A chip's advertised peaks and memory bandwidth as ceilings for any device.
std::vector<Ceiling> advertised_ceilings(const specs::Chip& chip);

}  // namespace roofline
