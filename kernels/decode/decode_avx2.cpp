// Idea: the AVX2 rungs of matmul and attention that do best on few rows and long caches.
// Bound: the DRAM read roof while the batch is below the ridge, then the f32 roof of AVX2.
// Gains over portable: all of what those rungs gain.
#include "kernels/decode/decode.hpp"

namespace kernels::decode {

extern const Kernel avx2 = {.exec_unit = "simd-avx2",
                            .few = "avx2_skinny",
                            .many = "avx2_packed",
                            .attention_bf16 = "avx2_split",
                            .attention_s8 = "avx2_int8"};

}  // namespace kernels::decode
