// Idea: vdpbf16ps multiplies and adds bf16 pairs without widening them.
// Bound: two loads an instruction, as in fp32: L1's loads in cache, the read roof beyond.
// Gains over avx512: no shifts and masks, one instruction where six were needed.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx512_bf16.hpp"

namespace kernels::dot {

extern const Kernel avx512_bf16 = {
    .exec_unit = Avx512Bf16::kUnit, .bf16 = dot_bf16_native<Avx512Bf16::BF16>, .bf16_roof = "bf16"};

}  // namespace kernels::dot
