// One benchmark against its roofs: how far it is from them, and whether to believe it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "roofline/ceilings/ceiling.hpp"
#include "roofline/overlay/beside.hpp"
#include "roofline/overlay/point.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// What a call does, as the model or the counters have it.
struct Done {
  double flops;
  const std::vector<std::pair<std::string, double>>& level_bytes;
  std::string source;
};

/// A point for each level of what was done; of all levels together what bounds it.
std::vector<Point> judge(const Benchmark& row, const Done& done,
                         const std::vector<Ceiling>& ceilings, const Beside& beside);

}  // namespace roofline
