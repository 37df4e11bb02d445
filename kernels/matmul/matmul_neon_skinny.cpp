// Idea: few rows: Y is streamed once from where it lies, all rows of X ride along; no packing.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge. Untuned.
// Gains over neon_packed at few rows: no copy of Y, long sequential streams.
#include "kernels/matmul/matmul_neon.hpp"
#include "kernels/matmul/matmul_skinny.hpp"

namespace kernels::matmul {

extern const Kernel neon_skinny = {
    .exec_unit = Neon::kUnit,
    .f64 = Skinny<FloatNeon<Neon::F64, double, double>>::routine(),
    .f32 = Skinny<FloatNeon<Neon::F32, float, float>>::routine(),
    .bf16_f32 = Skinny<FloatNeon<Neon::F32, bf16, bf16>>::routine(),
    .s8_s32 = Skinny<Int8Neon<std::int8_t>>::routine(),
    .u8_s8 = Skinny<Int8Neon<std::uint8_t>>::routine(),
    .bf16_s8 = Skinny<FloatNeon<Neon::F32, bf16, std::int8_t>>::routine(),
    .max_m = 32};

}  // namespace kernels::matmul
