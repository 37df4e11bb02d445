// Idea: twelve chains of 128-bit multiply-adds. Untuned: has run under emulation only.
// Bound: two FMA pipes, four on the widest cores (Neoverse V1 and later want more chains).
// Gains over neon_scalar: the vector width.
#include "kernels/fma_peak/fma_peak_simd.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::fma_peak {

extern const Kernel neon = {
    .exec_unit = Neon::kUnit, .f64 = fma_chain<Neon::F64>(), .f32 = fma_chain<Neon::F32>()};

}  // namespace kernels::fma_peak
