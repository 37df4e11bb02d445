// A ring of stages in shared memory between a producer, which fills them by TMA, and consumers.
#pragma once

#include "kernels/cuda/ring_position.hpp"
#include "kernels/cuda/tma.cuh"

namespace kernels::cuda {

/// Makes a ring's barriers, by one thread: a stage is full when its loads have come, and empty
/// after `releases` arrivals of those that read it. A barrier of all who use the ring follows.
template <int kStages>
__device__ __forceinline__ void init_ring(ptx::Mbarrier (&full)[kStages],
                                          ptx::Mbarrier (&empty)[kStages], int releases) {
  for (int s = 0; s < kStages; ++s) {
    ptx::mbarrier_init(full[s], 1);
    ptx::mbarrier_init(empty[s], releases);
  }
  ptx::mbarrier_init_fence();
}

/// By the thread that fills a ring, after its last stage: waits until every stage is empty again,
/// so that no signal of another block of the cluster is on its way to this one when it ends.
template <int kStages>
__device__ __forceinline__ void wait_for_releases(ptx::Mbarrier (&empty)[kStages],
                                                  RingPosition<kStages> next) {
  for (int s = 0; s < kStages; ++s, next.advance())
    ptx::mbarrier_wait(empty[next.stage], next.parity ^ 1);
}

}  // namespace kernels::cuda
