// Idea: 256-bit vectors and online softmax over blocks of tokens, one query head at a time.
// Bound: a kv head's cache crosses L2 or L3 once for every query head of its group.
// Gains over online: the vector width, and an exponential for eight tokens at a time.
#include "kernels/attention/attention_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::attention {

extern const Kernel avx2 = {.exec_unit = Avx2::kUnit,
                            .f32 = attend_by_head<Avx2::F32, float>,
                            .bf16 = attend_by_head<Avx2::F32, bf16>,
                            .s8 = attend_by_head<Avx2::F32, std::int8_t>,
                            .by_head = true};

}  // namespace kernels::attention
