// Whether the processes of a comparison can take turns, or run one after the other.
#pragma once

#include "roofline/machine/gpu.hpp"
#include "roofline/run_plan.hpp"

namespace roofline {

/// For what all processes of a group hold at once.
struct Room {
  double memory_bytes = 0;  ///< of the host
  machine::GpuRoom gpu;
};

/// By how much a process holds as a rule; a benchmark that finds no memory all the same is run
/// again without the others. On a GPU only if its free memory is known, and if it takes more than
/// one process.
bool fit_together(const Group& group, const Room& room);

}  // namespace roofline
