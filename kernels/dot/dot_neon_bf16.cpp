// Idea: bfdot multiplies and adds bf16 pairs without widening them.
// Bound: two loads an instruction: the load ports in cache, the read roof beyond. Untuned.
// Gains over neon: one instruction where six were needed.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/neon_bf16.hpp"

namespace kernels::dot {

extern const Kernel neon_bf16 = {
    .exec_unit = NeonBf16::kUnit, .bf16 = dot_bf16_native<NeonBf16::BF16>, .bf16_roof = "bf16"};

}  // namespace kernels::dot
