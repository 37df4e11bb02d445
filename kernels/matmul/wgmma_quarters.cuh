// What v16 and v17 share: a step of e4m3 in which one quarter of the columns is multiplied while
// the one before is added to the sums.
#pragma once

#include "kernels/matmul/wgmma_store.cuh"

namespace kernels::matmul {

constexpr int kPart = 64;   ///< columns that leave the tensor cores at a time
constexpr int kSlices = 4;  ///< wgmmas of a part, 32 bytes of K each
constexpr int kHalf = kSlices / 2;
static_assert(kPart == kPanel && kTileN == 4 * kPart);
static_assert(kPromoted<E4m3>, "sums leave after each step, as in v13");

template <int kAt>
using PartAt = std::integral_constant<int, kAt>;

/// A thread's registers for a step, besides its sums.
struct Quarters {
  std::uint32_t x[2][kHalf][4];           ///< in halves, each filled anew while the other is read
  float even[kPart / 2], odd[kPart / 2];  ///< products of parts 0 and 2, 1 and 3
};

/// Where the row is that a lane names to ldmatrix, whose four matrices are wgmma's first operand:
/// of a warpgroup's first slice of X. Slice i is at this ^ 32 i, as the swizzle is a XOR, too.
/// Once for all steps: left alone, nvcc computes it anew between the wait for products and the
/// loads of X, while the tensor cores have half a part left to do.
__device__ __forceinline__ std::uint32_t slice_row(int group) {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  auto row = static_cast<std::uint32_t>(
      group * 64 * kSpan +
      ptx::swizzle_128((16 * (t / 32) + lane % 16) * kSpan + 16 * (lane / 16)));
  ptx::compute_here(row);
  return row;
}

/// Enqueues a part's products of slices kFirst to kEnd - 1, as one group of wgmma.
template <int kFirst, int kEnd>
__device__ __forceinline__ void multiply_slices(float (&products)[kPart / 2],
                                                const std::uint32_t (&x)[2][kHalf][4],
                                                std::uint64_t y) {
  ptx::wgmma_fence();
#pragma unroll
  for (int i = kFirst; i < kEnd; ++i)
    ptx::wgmma_e4m3_a_registers(products, x[i / kHalf][i % kHalf], y + 2 * i, i > 0);
  ptx::wgmma_commit();
}

template <int kAt>
__device__ __forceinline__ void clear_part(float (&d)[kTileN / 2]) {
#pragma unroll
  for (int r = 0; r < kPart / 2; ++r) d[kAt * kPart / 2 + r] = 0;
}

/// Adds a part, whose products were waited for, to the sums of its columns.
template <int kAt>
__device__ __forceinline__ void add_part(float (&d)[kTileN / 2], float (&products)[kPart / 2]) {
  ptx::pin(products);
#pragma unroll
  for (int r = 0; r < kPart / 2; ++r) d[kAt * kPart / 2 + r] += products[r];
  ptx::pin(d);  // added before the next products need the registers
}

/// Before the first step: no sums, and no products of a step before.
__device__ __forceinline__ void clear_quarters(float (&d)[kTileN / 2], Quarters& q) {
  q = {};
#pragma unroll
  for (int r = 0; r < kTileN / 2; ++r) d[r] = 0;
}

/// Multiplies a stage; its last part is in flight at the end, and added by the next step or by
/// finish_quarters(). `row` is the warpgroup's slice_row(). `release()` follows the last read of
/// the stage before. `make_room(PartAt<p>)`, for p = 0, 1 and 2, comes before the sums of part p
/// change; for 0 those of all parts are complete for the step before. One part is in flight
/// meanwhile; with the next one enqueued first, v17 spills 28 bytes.
template <int kStages, class Release, class MakeRoom>
__device__ __forceinline__ void multiply_quarters(float (&d)[kTileN / 2], Quarters& q,
                                                  TileShared<E4m3>& shared,
                                                  const RingPosition<kStages>& at,
                                                  std::uint32_t row, const Release& release,
                                                  const MakeRoom& make_room) {
  constexpr int kNextPart = kPanelBytes >> 4;
  const auto& stage = shared.stages[at.stage];
  const auto y = ptx::descriptor_k_major_128(ptx::shared_address(stage.y));
  const auto load = [&](int slice) {
    ptx::load_matrix_x4(q.x[slice / kHalf][slice % kHalf], stage.x + (row ^ 32u * slice));
  };
  ptx::mbarrier_wait(shared.full[at.stage], at.parity);
  // The last part of the step before is in flight in two groups, so that its half of X's registers
  // can be filled anew while the other half is multiplied.
  ptx::wgmma_wait<1>();
  ptx::pin(q.x[0]);  // or its registers may serve others while products still read them
  load(0);
  load(1);
  multiply_slices<0, kHalf>(q.even, q.x, y);
  ptx::wgmma_wait<1>();
  ptx::pin(q.x[1]);
  load(2);
  load(3);
  // All warps have read X: the part that is complete took it from their registers.
  release();
  multiply_slices<kHalf, kSlices>(q.even, q.x, y);
  add_part<3>(d, q.odd);
  make_room(PartAt<0>{});
  multiply_slices<0, kSlices>(q.odd, q.x, y + kNextPart);
  ptx::wgmma_wait<1>();
  add_part<0>(d, q.even);
  make_room(PartAt<1>{});
  multiply_slices<0, kSlices>(q.even, q.x, y + 2 * kNextPart);
  ptx::wgmma_wait<1>();
  add_part<1>(d, q.odd);
  make_room(PartAt<2>{});
  multiply_slices<0, kHalf>(q.odd, q.x, y + 3 * kNextPart);
  multiply_slices<kHalf, kSlices>(q.odd, q.x, y + 3 * kNextPart);
  ptx::wgmma_wait<2>();
  add_part<2>(d, q.even);
}

/// After the last step: adds its last part.
__device__ __forceinline__ void finish_quarters(float (&d)[kTileN / 2], Quarters& q) {
  ptx::wgmma_wait<0>();
  ptx::pin(q.x[0]);
  ptx::pin(q.x[1]);
  add_part<3>(d, q.odd);
}

}  // namespace kernels::matmul
