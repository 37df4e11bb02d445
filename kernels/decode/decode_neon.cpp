// Idea: the NEON rungs of matmul and attention for weights packed before and long caches.
// Bound: the DRAM read roof while the batch is below the ridge, then the f32 roof of NEON. Untuned.
// Gains over portable: register tiles and packed weights in place of the compiler's vectors.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel neon = {.exec_unit = "simd-neon",
                            .matmul = {"neon_packed"},
                            .attention_bf16 = "neon_split",
                            .attention_s8 = {"neon_split"},
                            .glue = glue_on("simd-neon")};

}  // namespace kernels::decode
