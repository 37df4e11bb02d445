// Idea: the AVX2 rungs of matmul and attention that do best on weights packed before and long
// caches. On one row already, packed panels stream faster than avx2_skinny's plain weights (Zen 3:
// 48 against 38 GB/s in bf16).
// Bound: the DRAM read roof while the batch is below the ridge, then the f32 roof of AVX2.
// Gains over portable: all of what those rungs gain.
#include "kernels/decode/decode.hpp"

namespace kernels::decode {

extern const Kernel avx2 = {.exec_unit = "simd-avx2",
                            .matmul = "avx2_packed",
                            .attention_bf16 = "avx2_split",
                            .attention_s8 = "avx2_int8"};

}  // namespace kernels::decode
