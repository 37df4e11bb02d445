// Idea: avx512_bf16 on lines that were asked for into L1 one kilobyte before.
// Bound: the read roof of L3.
// Gains over avx512_bf16: a core of Zen 5 reads L3 at 130 in place of 120 GB/s.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::dot {

extern const Kernel avx512_bf16_ahead = {.exec_unit = Avx512Bf16::kUnit,
                                         .least_bytes = kAheadIntoL1From,
                                         .bf16 = dot_bf16_native<Avx512Bf16::BF16, AheadIntoL1>,
                                         .bf16_roof = "bf16"};

}  // namespace kernels::dot
