// Idea: tiles of Z leave through shared memory by TMA, in whole 128-byte rows, while the warps go
// on to the next tile; every type that wgmma has, and Z in 16 bits by stmatrix.
// Bound: the tensor cores of each type. In e4m3 they keep some 14 bits within 128 products; those
// sums are added up in fp32 on the CUDA cores, half of the columns at a time.
// Gains over v12: no partly used sectors, no address arithmetic and no masks in the warps that
// multiply: 1.03 on an H200 at 4096 cubed. cuBLASLt takes 0.94 to 1.04 times as long in bf16, tf32
// and int8 there, 0.98 to 1.01 times at 8192 cubed, 0.91 to 0.96 times in e4m3 at both.
// Tried: squares of four blocks that multicast X too: 0.88 to 0.93; the clock rises, but SMs wait.
// Tried: four stages and two panels in place of three and five: 0.99 to 1.01.
// Tried: groups of 4 rows of tiles: 0.96 to 1.00; of 16: 0.98 to 1.02.
// Tried: warpgroups two steps apart, so that one stores while one multiplies: 0.97 to 1.01, e4m3
// 0.91.
// Tried: e4m3 in tiles of 128 columns, which L2 does not feed: 0.86.
#include "kernels/matmul/wgmma_pairs.cuh"

namespace kernels::matmul {
namespace {

struct Steps {
  template <class Type, int kStages, class Release>
  static __device__ __forceinline__ void multiply(typename Type::Accumulator (&d)[kTileN / 2],
                                                  TileShared<Type>& shared,
                                                  RingPosition<kStages>& at, int steps, int group,
                                                  const Release& release) {
    multiply_steps<Type>(d, shared, at, steps, group, release);
  }
};

std::shared_ptr<void> open(const GpuArguments& a, const GpuTypes& types) {
  return open_by_types(types, [&]<class Type, class Out>() {
    return open_pairs<Type, Out, OneAfterTheOther<Steps>>(a, types);
  });
}

template <class Type, class Out = typename Type::Accumulator>
constexpr GpuLaunch launch = launch_pairs<Type, Out, OneAfterTheOther<Steps>>;

}  // namespace

extern const GpuKernel sm90a_v13_store = {.exec_unit = "wgmma",
                                          .bf16 = launch<Bf16>,
                                          .f16 = launch<F16>,
                                          .bf16_out = launch<Bf16, bf16>,
                                          .f16_out = launch<F16, __half>,
                                          .tf32_pre = launch<Tf32>,
                                          .e4m3 = launch<E4m3>,
                                          .s8 = launch<S8>,
                                          .tiles = kTiles<Bf16>,
                                          .e4m3_tiles = kTiles<E4m3, kColumnsAtOnce<E4m3, kTileN>>,
                                          .open = open,
                                          .open_each = true};

}  // namespace kernels::matmul
