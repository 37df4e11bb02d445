// Idea: the AVX-512 rungs of matmul and attention for weights packed before and long caches.
// Bound: the DRAM read roof while the batch is below the ridge, then the f32 roof of AVX-512.
// Gains over avx2: wider vectors, so that more batches stay bound by DRAM.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel avx512 = {.exec_unit = "simd-avx512",
                              .matmul = {"avx512_packed"},
                              .attention_bf16 = "avx512_split",
                              .attention_s8 = {"avx512_vnni", "avx512_split"},
                              .glue = glue_on("simd-avx512")};

}  // namespace kernels::decode
