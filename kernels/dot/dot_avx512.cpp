// Idea: 512-bit loads and eight vector accumulators.
// Bound: two loads a multiply-add: L1's 128 B a cycle in cache, the read roof beyond.
// Gains over avx2: twice the bytes a load, where the core has 512-bit load paths.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::dot {

extern const Kernel avx512 = {.exec_unit = Avx512::kUnit,
                              .f64 = dot_float<Avx512::F64, double>,
                              .f32 = dot_float<Avx512::F32, float>,
                              .bf16 = dot_bf16_widened<Avx512::F32>,
                              .s8 = dot_s8<Avx512::S8>};

}  // namespace kernels::dot
