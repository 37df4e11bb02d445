// Idea: sdot adds four byte products a lane.
// Bound: two loads an instruction: the load ports in cache, the read roof beyond. Untuned.
// Gains over neon: one instruction for 16 products where four were needed.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/neon_dotprod.hpp"

namespace kernels::dot {

extern const Kernel neon_dotprod = {.exec_unit = NeonDotprod::kUnit, .s8 = dot_s8<NeonDotprod::S8>};

}  // namespace kernels::dot
