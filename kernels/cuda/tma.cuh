// Hopper's asynchronous copies and what they are waited for with, in thin wrappers: mbarriers, TMA
// (PTX ISA 9.7.9.25, 9.7.13.15), named barriers, clusters, register counts. sm_90a only.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda::ptx {

/// An mbarrier: a phase ends when `count` arrivals and all expected bytes have come.
using Mbarrier = std::uint64_t;

PTX_INLINE void mbarrier_init(Mbarrier& b, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&b)), "r"(count)
               : "memory");
}
/// After the last init; then __syncthreads, or cluster_sync where other blocks touch them.
PTX_INLINE void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
PTX_INLINE void mbarrier_arrive(Mbarrier& b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&b)) : "memory");
}
/// Arrives and adds `bytes` to what the phase waits for: whole boxes, also where they are clipped.
PTX_INLINE void mbarrier_arrive_expect(Mbarrier& b, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&b)),
               "r"(bytes)
               : "memory");
}
/// Arrives at the same barrier of block `rank` of the cluster. For slots that wgmma has read, or
/// ldmatrix into registers that wgmma took, and that was waited for: of the block's own scope, as
/// nothing is told. Of the cluster's it would be a membar.gpu and more, each time.
PTX_INLINE void mbarrier_arrive_at(Mbarrier& b, unsigned rank) {
  asm volatile(
      "{.reg .b32 r; mapa.shared::cluster.u32 r, %0, %1;"
      "mbarrier.arrive.shared::cluster.b64 _, [r];}" ::"r"(shared_address(&b)),
      "r"(rank)
      : "memory");
}
/// Waits until the phase of that parity has ended; a fresh barrier counts as past parity 1. Traps
/// after five seconds: a wrong count must not hang the machine.
PTX_INLINE void mbarrier_wait(Mbarrier& b, unsigned parity) {
  constexpr unsigned kTries = 1024;  // between two looks at the clock
  constexpr unsigned long long kPatienceNs = 5'000'000'000;
  unsigned long long since = 0;
  for (unsigned tries = 1;; ++tries) {
    std::uint32_t done;
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
        "selp.u32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(shared_address(&b)), "r"(parity)
        : "memory");
    if (done) return;
    if (tries % kTries != 0) continue;
    const unsigned long long now = global_timer_ns();
    if (since == 0) since = now;
    if (now - since > kPatienceNs) __trap();
  }
}

PTX_INLINE void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}

/// A box from (x, y, z), zeros out of bounds; adds its bytes to `b`.
PTX_INLINE void load_box(void* to, const CUtensorMap& map, int x, int y, int z, Mbarrier& b) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(x), "r"(y), "r"(z), "r"(shared_address(&b))
      : "memory");
}
/// The same into every block of the cluster that `blocks` has a bit for, at the same offset, each
/// signalled by its own barrier.
PTX_INLINE void load_box_multicast(void* to, const CUtensorMap& map, int x, int y, int z,
                                   Mbarrier& b, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(shared_address(to)),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(x), "r"(y), "r"(z), "r"(shared_address(&b)),
      "h"(blocks)
      : "memory");
}
/// A box to (x, y, z), clipped to the tensor, its rows to whole 16 bytes. What it reads was written
/// before a fence_async_proxy of each writer and a barrier.
PTX_INLINE void store_box(const CUtensorMap& map, int x, int y, int z, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
          reinterpret_cast<std::uint64_t>(&map)),
      "r"(x), "r"(y), "r"(z), "r"(shared_address(from))
      : "memory");
}
PTX_INLINE void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until this thread's stores, but for the last N groups, have read shared memory.
template <int N>
PTX_INLINE void store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
/// Waits for all of this thread's stores; before it ends.
PTX_INLINE void store_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// A barrier of `threads` of the block's threads; id 1 to 15 (0 is __syncthreads).
PTX_INLINE void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

PTX_INLINE unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// All threads of the cluster, whole warps.
PTX_INLINE void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
/// The same where nothing is told but that all have come: what one wrote before is not visible to
/// the others, but for mbarriers made before a fence of theirs. No membar.gpu, which waits for all
/// stores.
PTX_INLINE void cluster_meet() {
  asm volatile(
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

/// 16 bytes of block `rank` of the cluster, at the place that `p` has in this block.
PTX_INLINE uint4 load_of_rank(const void* p, unsigned rank) {
  uint4 v;
  asm volatile(
      "{.reg .b32 r; mapa.shared::cluster.u32 r, %4, %5;"
      "ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [r];}"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "r"(shared_address(p)), "r"(rank)
      : "memory");
  return v;
}

/// Lets the next kernel's blocks start where this one's leave room, once all blocks have said so.
PTX_INLINE void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
/// Waits until the kernel before has ended and all that it wrote is visible.
PTX_INLINE void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// All warps of a warpgroup give registers back, or wait for that many.
template <int N>
PTX_INLINE void registers_down_to() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N>
PTX_INLINE void registers_up_to() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

}  // namespace kernels::cuda::ptx
