// What speaks against a measured limit.
#pragma once

#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Flags the ceilings that are above their own theory, of unquiet moments for want of quiet ones,
/// of an unsteady clock or samples that disagree, or faster than a level nearer to the core.
/// `probes` are what they were read from. The levels of one sweep follow each other outwards.
void flag_doubtful(std::vector<Ceiling>& ceilings, const std::vector<Benchmark>& probes);

}  // namespace roofline
