// chase: the time of one load that the next one depends on. A probe for latency.
#pragma once

#include <cstdint>

#include "kernels/op.hpp"

namespace kernels::chase {

/// A line of memory that holds the address of the next one.
struct alignas(64) Node {
  const Node* next;
};

struct Kernel {
  const char* exec_unit;
  /// Follows `loads` links from `start`; returns where it ends.
  const Node* (*follow)(const Node* start, std::int64_t loads) = nullptr;
};

}  // namespace kernels::chase
