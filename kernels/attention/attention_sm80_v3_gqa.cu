// Idea: a warp serves 32 / (16 / element size) query heads of a group from one read of the cache.
// Bound: HBM; with many heads and a narrow type the multiply-adds on CUDA cores.
// Gains over v2 (expected, not measured yet): up to 8 (fp32), 4 (bf16) or 2 (int8) times less
// traffic from L2 with grouped heads: four reads of a bf16 cache by L2's 5.5 TB/s are 0.4 of HBM's
// rate, one is all of it.
#include "kernels/attention/attention_gpu_split.cuh"

namespace kernels::attention {
namespace {

constexpr int shared_heads(int element_bytes) { return 2 * element_bytes; }

template <class T>
constexpr GpuLaunches both() {
  constexpr int kHeads = shared_heads(sizeof(T));
  return {split<T, 64, kHeads>, split<T, 128, kHeads>};
}

}  // namespace

extern const GpuKernel sm80_v3_gqa = {.f32 = both<float>(),
                                      .bf16 = both<bf16>(),
                                      .f16 = both<__half>(),
                                      .e4m3 = both<__nv_fp8_e4m3>(),
                                      .s8 = both<std::int8_t>(),
                                      .splits = true,
                                      .shared_heads = shared_heads};

}  // namespace kernels::attention
