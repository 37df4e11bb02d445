// Idea: e4m3's products leave the tensor cores a quarter of the columns at a time, into two sets of
// registers in turn: one quarter is multiplied while the one before is added to the sums, also from
// one step to the next. X is read into registers once a step: m64n64 with both operands from shared
// memory would take 128 bytes a clock, all that it gives.
// Bound: the tensor cores, 1024 clocks a step of both warpgroups. Shared memory moves 128 KB in it,
// as for the types that need no adding: 80 read, 48 written; v13, which reads X twice, 144 KB, 1152
// clocks.
// Not timed yet. Predicted over v13, which on an H200 at 8192 cubed takes 82 400 clocks a tile of
// 64 steps: 74 000 (65 500, and some 8 500 between tiles, as in int8), 1.11 times; less where power
// then takes the clock down.
#include "kernels/matmul/wgmma_pairs.cuh"

namespace kernels::matmul {
namespace {

constexpr int kPart = 64;   ///< columns that leave the tensor cores at a time
constexpr int kSlices = 4;  ///< wgmmas of a part, 32 bytes of K each
static_assert(kPart == kPanel && kTileN == 4 * kPart);

/// Where the row is that a lane names to ldmatrix, whose four matrices are wgmma's first operand:
/// of a warpgroup's first slice of X. Slice i is at this ^ 32 i, as the swizzle is a XOR, too.
__device__ __forceinline__ int slice_row() {
  const int t = threadIdx.x % kWarpgroup, lane = t % 32;
  return ptx::swizzle_128((16 * (t / 32) + lane % 16) * kSpan + 16 * (lane / 16));
}

/// Enqueues a part's products of slices kFirst to kEnd - 1, as one group of wgmma.
template <int kFirst, int kEnd>
__device__ __forceinline__ void multiply_slices(float (&products)[kPart / 2],
                                                const std::uint32_t (&x)[kSlices][4],
                                                std::uint64_t y) {
  ptx::wgmma_fence();
#pragma unroll
  for (int i = kFirst; i < kEnd; ++i) ptx::wgmma_e4m3_a_registers(products, x[i], y + 2 * i, i > 0);
  ptx::wgmma_commit();
}

/// Adds a part, whose products were waited for, to the sums of its columns.
template <int kPartAt>
__device__ __forceinline__ void add_part(float (&d)[kTileN / 2], float (&products)[kPart / 2]) {
  ptx::pin(products);
#pragma unroll
  for (int r = 0; r < kPart / 2; ++r) d[kPartAt * kPart / 2 + r] += products[r];
  ptx::pin(d);  // added before the next products need the registers
}

struct Quarters {
  template <int kStages, class Release>
  static __device__ __forceinline__ void multiply(float (&d)[kTileN / 2], TileShared<E4m3>& shared,
                                                  RingPosition<kStages>& at, int steps, int group,
                                                  const Release& release) {
    constexpr int kHalf = kSlices / 2, kNextPart = kPanelBytes >> 4;
    const int row = group * 64 * kSpan + slice_row();
    std::uint32_t x[kSlices][4];
    float even[kPart / 2], odd[kPart / 2];
#pragma unroll
    for (int r = 0; r < kPart / 2; ++r) odd[r] = 0;  // what the first step finds of one before
#pragma unroll
    for (int r = 0; r < kTileN / 2; ++r) d[r] = 0;
    int before = 0;
    for (int i = 0; i < steps; ++i, at.advance()) {
      const auto& stage = shared.stages[at.stage];
      const auto y = ptx::descriptor_k_major_128(ptx::shared_address(stage.y));
      const auto load = [&](int slice) {
        ptx::load_matrix_x4(x[slice], stage.x + (row ^ 32 * slice));
      };
      ptx::mbarrier_wait(shared.full[at.stage], at.parity);
      // The last part of the step before is in flight in two groups, so that its half of X's
      // registers can be filled anew while the other half is multiplied.
      ptx::wgmma_wait<1>();
      load(0);
      load(1);
      multiply_slices<0, kHalf>(even, x, y);
      ptx::wgmma_wait<1>();
      load(2);
      load(3);
      // All warps have read X: the part that is complete took it from their registers.
      if (i > 0) release(before);
      add_part<3>(d, odd);
      multiply_slices<kHalf, kSlices>(even, x, y);
      multiply_slices<0, kSlices>(odd, x, y + kNextPart);
      ptx::wgmma_wait<1>();
      add_part<0>(d, even);
      multiply_slices<0, kSlices>(even, x, y + 2 * kNextPart);
      ptx::wgmma_wait<1>();
      add_part<1>(d, odd);
      multiply_slices<0, kHalf>(odd, x, y + 3 * kNextPart);
      multiply_slices<kHalf, kSlices>(odd, x, y + 3 * kNextPart);
      ptx::wgmma_wait<2>();
      add_part<2>(d, even);
      before = at.stage;
    }
    ptx::wgmma_wait<0>();
    add_part<3>(d, odd);
    release(before);
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_pairs<E4m3, float, Quarters>(a, types);
}

}  // namespace

extern const GpuKernel sm90a_v16_quarters = {.exec_unit = "wgmma",
                                             .e4m3 = launch_pairs<E4m3, float, Quarters>,
                                             .tiles = kTiles<E4m3>,
                                             .open = open,
                                             .open_each = true};

}  // namespace kernels::matmul
