// Idea: weights packed in pairs of bf16 and multiplied by vdpbf16ps, int8 ones by vpdpbusd with
// activations as two bytes; attention as in avx512.
// Bound: the DRAM read roof while the batch is below the ridge, then the bf16 roof of AVX-512.
// Gains over avx512: twice the products an instruction, and no widening of weights for every row.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel avx512_bf16 = {.exec_unit = "simd-avx512-bf16",
                                   .matmul = {"avx512_vnni_split", "avx512_bf16_packed"},
                                   .attention_bf16 = "avx512_split",
                                   .attention_s8 = {"avx512_vnni", "avx512_split"},
                                   .glue = glue_on("simd-avx512")};

}  // namespace kernels::decode
