// Idea: a warp serves 32 / (16 / element size) query heads of a group from one read of the cache.
// Bound: HBM; with many heads and a narrow type the multiply-adds on CUDA cores.
// Gains over v2: a read of the cache from L2 serves several heads: on an H200 in bf16 nothing
// (0.97) with groups of 4 and 16, whose multiply-adds bind, 2.0 where caches are ragged and in
// pages; 0.39 where N = K, as half of the warps have one head.
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
