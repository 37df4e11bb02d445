// Idea: 256-bit loads and eight vector accumulators.
// Bound: two loads a multiply-add: L1's 64 B a cycle in cache, the read roof beyond.
// Gains over unrolled: the vector width, 8 times in fp32.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::dot {

extern const Kernel avx2 = {.exec_unit = Avx2::kUnit,
                            .f64 = dot_float<Avx2::F64, double>,
                            .f32 = dot_float<Avx2::F32, float>,
                            .bf16 = dot_bf16_widened<Avx2::F32>,
                            .s8 = dot_s8<Avx2::S8>};

}  // namespace kernels::dot
