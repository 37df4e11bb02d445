// One matmul over several chips: arithmetic, memory and link side by side.
// Source: 'How To Scale Your Model', parts 1 and 3 (Austin et al., 2025).
#pragma once

#include <optional>
#include <string>

#include "roofline/predict/operation.hpp"

namespace roofline::predict {

enum class Collective { kNone, kAllGather, kReduceScatter, kAllReduce };

/// "all-reduce" and so on. Throws BadInput that lists the names.
Collective collective_of(std::string_view name);
std::string_view name_of(Collective collective);
/// What is done unless it is said: all-reduce of the partial sums for D, nothing for B and F.
Collective default_collective(char shard);

/// X[B,D] Y[D,F] -> Z[B,F] with one dimension split evenly over the chips.
struct ShardedMatmul {
  std::int64_t b = 0, d = 0, f = 0;
  std::int64_t chips = 1;
  char shard = 'D';  ///< B, D (the contraction) or F
  Collective collective = Collective::kAllReduce;
  ElementSizes element;
};

struct ShardedPrediction {
  double flops = 0, memory_bytes = 0, link_bytes = 0;  ///< of one chip
  double t_math_s = 0, t_memory_s = 0, t_comms_s = 0;
  double t_lower_s = 0, t_upper_s = 0;
  std::string bound;  ///< compute, the memory's level, or link
  /// From this size on arithmetic takes longer than the link; which size it is. Empty without
  /// traffic on the link.
  std::optional<double> critical_size;
  std::string critical_dimension;
};

/// Bytes of a chip on a ring, in one direction: all-gather and reduce-scatter (n-1)/n of the whole,
/// all-reduce twice that. Gathered is Y where B is split, Z where F is; reduced are the partial
/// sums of a split D. Each chip reads its part of X and Y and writes its part of Z; a gathered Y is
/// read whole. Throws BadInput: chips do not divide the dimension, a collective that does not go
/// with it, a link that is not above 0 but needed.
ShardedPrediction predict(const ShardedMatmul& work, const Roofs& roofs, double link_bandwidth,
                          const Given& given = {});

}  // namespace roofline::predict
