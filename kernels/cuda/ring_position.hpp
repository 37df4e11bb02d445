// Where a ring of stages is. Plain arithmetic, so that the tests can walk it without a GPU.
#pragma once

#include "kernels/cuda/types.hpp"

namespace kernels::cuda {

/// Position in a ring of `kStages`: `parity` is that of the phase in which the stage is filled for
/// the n-th time. It runs on across pieces of work.
template <int kStages>
struct RingPosition {
  int stage = 0;
  unsigned parity = 0;
  KERNELS_HD constexpr void advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

}  // namespace kernels::cuda
