// The wrappers of kernels/cuda/tma.cuh by the emulator's mbarriers and copies.
#pragma once

#include "hopper.hpp"
#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda::ptx {

using Mbarrier = std::uint64_t;

inline void mbarrier_init(Mbarrier& b, unsigned count) { emulation::mbarrier_init(&b, count); }
inline void mbarrier_init_fence() {}
inline void mbarrier_arrive(Mbarrier& b) { emulation::mbarrier_arrive(&b); }
inline void mbarrier_arrive_expect(Mbarrier& b, unsigned bytes) {
  emulation::mbarrier_expect(&b, bytes);
}
inline void mbarrier_arrive_at(Mbarrier& b, unsigned rank) {
  emulation::mbarrier_arrive_at(&b, static_cast<int>(rank));
}
inline void mbarrier_wait(Mbarrier& b, unsigned parity) { emulation::mbarrier_wait(&b, parity); }

inline void prefetch_map(const CUtensorMap&) {}
inline void load_box_multicast(void* to, const CUtensorMap& map, int x, int y, int z, Mbarrier& b,
                               std::uint16_t blocks) {
  emulation::load_box(to, map, {x, y, z}, &b, blocks);
}
inline void load_box(void* to, const CUtensorMap& map, int x, int y, int z, Mbarrier& b) {
  emulation::load_box(to, map, {x, y, z}, &b, 1u << emulation::current->rank);
}
inline void store_box(const CUtensorMap& map, int x, int y, int z, const void* from) {
  emulation::store_box(map, {x, y, z}, from);
}
inline void store_commit() { emulation::commit_stores(); }
template <int N>
void store_wait_read() {
  emulation::wait_stores(N);
}
inline void store_wait() { emulation::wait_stores(0); }

inline void named_barrier(int id, int threads) { emulation::synchronise_named(id, threads); }
inline unsigned cluster_rank() { return static_cast<unsigned>(emulation::current->rank); }
inline void cluster_sync() { emulation::synchronise_cluster(); }
inline void cluster_meet() { emulation::synchronise_cluster(); }
inline uint4 load_of_rank(const void* p, unsigned rank) {
  const auto offset = static_cast<const unsigned char*>(p) - emulation::dynamic_shared();
  return load_streaming(emulation::dynamic_shared_of(static_cast<int>(rank)) + offset);
}

// Launches do not overlap here.
inline void launch_dependents() {}
inline void wait_for_kernel_before() {}

template <int N>
void registers_down_to() {
  emulation::set_registers(N);
}
template <int N>
void registers_up_to() {
  emulation::set_registers(N);
}

}  // namespace kernels::cuda::ptx
