// How fast the main memory of a problem comes, beside each of its samples.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/op.hpp"

namespace bench {

/// The probes' loops, each of which reads the problem's own memory after every sample. What counts
/// of one sample is what the best loop has read in that time, best by its median so far: the
/// fastest of several short readings of a memory that others use too is as fast by chance.
class OwnMemory {
 public:
  /// Bytes/s; NaN if the problem does not offer it. `next_call` as in Problem::read_own_memory();
  /// `now` tells seconds.
  double rate(kernels::Problem& problem, std::int64_t next_call,
              const std::function<double()>& now);

 private:
  std::vector<std::vector<double>> rates_;  ///< of each loop, one a sample
};

}  // namespace bench
