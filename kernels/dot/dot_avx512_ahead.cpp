// Idea: 512-bit loads of lines that were asked for into L1 one kilobyte before.
// Bound: the read roof of L3.
// Gains over avx512: a core of Zen 5 reads L3 at 130 in place of 120 GB/s.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx512.hpp"

namespace kernels::dot {

extern const Kernel avx512_ahead = {.exec_unit = Avx512::kUnit,
                                    .least_bytes = kAheadIntoL1From,
                                    .f64 = dot_float<Avx512::F64, double, AheadIntoL1>,
                                    .f32 = dot_float<Avx512::F32, float, AheadIntoL1>};

}  // namespace kernels::dot
