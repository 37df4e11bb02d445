// Idea: the packed matmul on 128-bit vectors, a 12 x 8 (f64: 12 x 4) tile in 24 registers.
// Bound: the core's FMA pipes; bf16 and int8 are widened in registers. Untuned.
// Gains over blocked: every loaded vector of Y is used twelve times.
#include "kernels/matmul/matmul_neon.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {

extern const Kernel neon_packed = {
    .exec_unit = Neon::kUnit,
    .f64 = Packed<FloatNeon<Neon::F64, double, double>>::routine(),
    .f32 = Packed<FloatNeon<Neon::F32, float, float>>::routine(),
    .bf16_f32 = Packed<FloatNeon<Neon::F32, bf16, bf16>>::routine(),
    .s8_s32 = Packed<Int8Neon<std::int8_t>>::routine(),
    .u8_s8 = Packed<Int8Neon<std::uint8_t>>::routine(),
    .bf16_s8 = Packed<FloatNeon<Neon::F32, bf16, std::int8_t>>::routine()};

}  // namespace kernels::matmul
