// Idea: e4m3's products leave the tensor cores a quarter of the columns at a time, into two sets of
// registers in turn: one quarter is multiplied while the one before is added to the sums, also from
// one step to the next. X is read into registers once a step: m64n64 with both operands from shared
// memory would take 128 bytes a clock, all that it gives.
// Bound: the tensor cores, 1024 clocks a step of both warpgroups. Shared memory moves 128 KB in it,
// as for the types that need no adding: 80 read, 48 written; v13, which reads X twice, 144 KB, 1152
// clocks.
// Not timed yet. Predicted over v13, which on an H200 at 8192 cubed takes 82 400 clocks a tile of
// 64 steps: 65 500, and between tiles 7 000 to 9 000 as in bf16 and int8, 1.11 to 1.14 times; less
// where power then takes the clock down.
#include "kernels/matmul/wgmma_pairs.cuh"
#include "kernels/matmul/wgmma_quarters.cuh"

namespace kernels::matmul {
namespace {

struct Steps {
  template <int kStages, class Release>
  static __device__ __forceinline__ void multiply(float (&d)[kTileN / 2], TileShared<E4m3>& shared,
                                                  RingPosition<kStages>& at, int steps, int group,
                                                  const Release& release) {
    Quarters q;
    clear_quarters(d, q);
    const std::uint32_t row = slice_row(group);
    int before = 0;
    for (int i = 0; i < steps; ++i, at.advance()) {
      const auto release_before = [&] {
        if (i > 0) release(before);
      };
      multiply_quarters(d, q, shared, at, row, release_before, [](auto) {});
      before = at.stage;
    }
    finish_quarters(d, q);
    release(before);
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_pairs<E4m3, float, OneAfterTheOther<Steps>>(a, types);
}

}  // namespace

extern const GpuKernel sm90a_v16_quarters = {
    .exec_unit = "wgmma",
    .e4m3 = launch_pairs<E4m3, float, OneAfterTheOther<Steps>>,
    .tiles = kTiles<E4m3>,
    .open = open,
    .open_each = true};

}  // namespace kernels::matmul
