// Idea: follow a random cycle through the lines of a buffer, one load after the other.
// Bound: the latency of the level that holds the buffer.
// Below it: nothing.
#include "kernels/chase/chase.hpp"

namespace kernels::chase {
namespace {

const Node* follow(const Node* start, std::int64_t loads) {
  for (std::int64_t i = 0; i < loads; ++i) start = start->next;
  return start;
}

}  // namespace

extern const Kernel plain = {.exec_unit = "scalar", .follow = follow};

}  // namespace kernels::chase
