// Idea: kernels that any machine runs; what the others are tested beside.
// Bound: scalar arithmetic.
// The first rung; it leaves out what would take seconds a step.
#include "kernels/decode/decode_glue.hpp"

namespace kernels::decode {

extern const Kernel portable = {.exec_unit = "simd-baseline",
                                .matmul = {"blocked"},
                                .attention_bf16 = "online",
                                .attention_s8 = {"online"},
                                .glue = glue_on("simd-baseline"),
                                .max_flops = 1e8};

}  // namespace kernels::decode
