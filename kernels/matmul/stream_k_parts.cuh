// What the stream-K rungs share beside their plan (stream_k.hpp): the sums that a tile's blocks
// leave to one another.
#pragma once

#include <memory>
#include <type_traits>

#include "kernels/cuda/memory.hpp"
#include "kernels/matmul/stream_k.hpp"
#include "kernels/matmul/wgmma_tile.cuh"

namespace kernels::matmul {

/// A warpgroup's sums of a part of a tile, as [register / 4][thread][4]: a warp reads and writes
/// whole lines. Those of one warpgroup's rows lie kConsumers apart.
template <class Scalar, int kRegisters>
struct Part {
  using Four = std::conditional_t<std::is_same_v<Scalar, float>, float4, int4>;
  Four fours[kRegisters / 4][kWarpgroup];
};

template <class Scalar, int kRegisters>
__device__ __forceinline__ void write_part(Part<Scalar, kRegisters>& part,
                                           const Scalar (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters / 4; ++i)
    part.fours[i][threadIdx.x % kWarpgroup] = {d[4 * i], d[4 * i + 1], d[4 * i + 2], d[4 * i + 3]};
}

/// Sixteen loads a thread are under way at a time: with 64 KB an SM that is enough for L2, and more
/// would spill.
template <int kConsumers, class Scalar, int kRegisters>
__device__ __forceinline__ void add_parts(Scalar (&d)[kRegisters],
                                          const Part<Scalar, kRegisters>* parts, int count) {
  constexpr int kLoads = 16;
  static_assert(kRegisters / 4 % kLoads == 0, "the loads of a turn are all of a part");
#pragma unroll
  for (int from = 0; from < kRegisters / 4; from += kLoads) {
#pragma unroll
    for (int r = 4 * from; r < 4 * (from + kLoads); ++r) d[r] = 0;
    for (int p = 0; p < count; ++p)
#pragma unroll
      for (int i = from; i < from + kLoads; ++i) {
        const auto four = __ldcg(&parts[p * kConsumers].fours[i][threadIdx.x % kWarpgroup]);
        d[4 * i] += four.x;
        d[4 * i + 1] += four.y;
        d[4 * i + 2] += four.z;
        d[4 * i + 3] += four.w;
      }
  }
}

/// Makes d a whole tile's sums of warpgroup `group`, in the order of K, where this block is the
/// last of those that make the tile; else leaves them this block's part and returns false. `last`
/// is the warpgroup's own in shared memory, `barrier` its named barrier. Where blocks of a cluster
/// have a share together, `block` is the cluster and kConsumers counts all their warpgroups.
template <int kConsumers, class Scalar, int kRegisters>
__device__ __forceinline__ bool sum_of_parts(Scalar (&d)[kRegisters], const StreamK& work,
                                             std::int64_t tile, Part<Scalar, kRegisters>* sums,
                                             unsigned* finished, int group, int barrier, bool& last,
                                             int block = blockIdx.x) {
  const int parts = work.parts(tile);
  if (parts == 1) return true;
  const auto part = [&](int b) { return sums + work.part(tile, b) * kConsumers + group; };
  write_part(*part(block), d);
  __threadfence();  // the part is visible before it is counted
  ptx::named_barrier(barrier, kWarpgroup);
  if (threadIdx.x % kWarpgroup == 0)
    last = atomicInc(finished + tile * kConsumers + group, parts - 1) ==
           static_cast<unsigned>(parts - 1);
  ptx::named_barrier(barrier, kWarpgroup);
  if (!last) return false;
  __threadfence();  // and the others' parts are read after they were counted
  add_parts<kConsumers>(d, part(work.first_block(tile)), parts);
  return true;
}

/// What a stream-K kernel needs besides its operands, for one input copy.
struct StreamKState {
  StreamK work;
  double part_bytes;      ///< that a call's blocks leave to one another
  cuda::Memory sums;      ///< of every part of a tile
  cuda::Memory finished;  ///< blocks of a tile, of each warpgroup, that have left theirs
};

/// `bytes`: of a part, all warpgroups together. `first`: that of the first input copy, or null;
/// calls come one after the other, and with memory of its own each copy's sums would be cold.
inline StreamKState stream_k_state(const StreamK& work, int consumers, std::size_t bytes,
                                   const StreamKState* first) {
  if (first != nullptr) return *first;
  return {work, static_cast<double>(work.parts_left() * bytes),
          cuda::allocate(work.part_numbers() * bytes),
          cuda::allocate_zeroed(work.shared * consumers * sizeof(unsigned))};
}

}  // namespace kernels::matmul
