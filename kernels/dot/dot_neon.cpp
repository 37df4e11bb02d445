// Idea: 128-bit loads and eight vector accumulators.
// Bound: two loads a multiply-add: the load ports in cache, the read roof beyond. Untuned.
// Gains over unrolled: the vector width, 4 times in fp32.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::dot {

extern const Kernel neon = {.exec_unit = Neon::kUnit,
                            .f64 = dot_float<Neon::F64, double>,
                            .f32 = dot_float<Neon::F32, float>,
                            .bf16 = dot_bf16_widened<Neon::F32>,
                            .s8 = dot_s8<Neon::S8>};

}  // namespace kernels::dot
