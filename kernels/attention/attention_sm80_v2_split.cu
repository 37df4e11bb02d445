// Idea: the context is cut into chunks so that every SM has warps; 16-byte loads, eight in flight a
// lane; a second launch combines the chunks.
// Bound: L2, since each query head of a group reads the cache for itself; HBM where N = K.
// Gains over v1 (expected, not measured yet): the whole chip works however few heads there are.
// One sequence of 32 heads had 32 warps with some 16 KB in flight, 30 GB/s; now every SM has 32 KB
// and more, above half of the roof.
#include "kernels/attention/attention_gpu_split.cuh"

namespace kernels::attention {
namespace {

template <class T>
constexpr GpuLaunches both() {
  return {split<T, 64, 1>, split<T, 128, 1>};
}

}  // namespace

extern const GpuKernel sm80_v2_split = {.f32 = both<float>(),
                                        .bf16 = both<bf16>(),
                                        .f16 = both<__half>(),
                                        .e4m3 = both<__nv_fp8_e4m3>(),
                                        .s8 = both<std::int8_t>(),
                                        .splits = true,
                                        .shared_heads = [](int) { return 1; }};

}  // namespace kernels::attention
