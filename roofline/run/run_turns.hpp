// Whether the processes of a comparison can take turns, or run one after the other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "roofline/machine/gpu.hpp"
#include "roofline/run/run_plan.hpp"

namespace roofline {

/// For what all processes of a group hold at once.
struct Room {
  double memory_bytes = 0;  ///< of the host
  machine::GpuRoom gpu;
  double cold_bytes = 0;  ///< that one cold benchmark on a CPU holds
};

/// Why a group's processes cannot take turns, in words; empty if they can. By how much a process
/// holds as a rule; a benchmark that finds no memory all the same is run again without the others.
/// On a GPU only if its free memory is known, and if it takes more than one process.
std::string why_apart(const Group& group, const Room& room);
bool fit_together(const Group& group, const Room& room);

/// How many of a round's `units` are at work at once: all or one. They are the group's or what is
/// left of them, of which a process that broke has left several: more than there was room for.
std::size_t started_together(const Group& group, const std::vector<Unit>& units, const Room& room);

}  // namespace roofline
