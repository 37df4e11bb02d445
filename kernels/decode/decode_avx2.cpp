// Idea: the AVX2 rungs of matmul and attention that do best on weights packed before and long
// caches. avx2_skinny, on plain weights, is no faster on one row and slower on more: 16 against
// 10 ms for 8 rows of 28672 x 4096 in bf16 (Zen 3).
// Bound: the DRAM read roof while the batch is below the ridge, then the f32 roof of AVX2.
// Gains over portable: all of what those rungs gain.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel avx2 = {.exec_unit = "simd-avx2",
                            .matmul = {"avx2_packed"},
                            .attention_bf16 = "avx2_split",
                            .attention_s8 = {"avx2_int8"},
                            .glue = glue_on("simd-avx2")};

}  // namespace kernels::decode
