// Idea: the packed matmul on 512-bit vectors, a 14 x 32 (f64: 14 x 16) tile in 28 registers.
// Bound: two 512-bit FMA a cycle where the core has both pipes; bf16 and int8 are widened.
// Gains over avx2_packed: twice the vector, and 28 / (14 + 2) instead of 12 / (6 + 2) FMA a load.
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {

extern const Kernel avx512_packed = {
    .exec_unit = Avx512::kUnit,
    .f64 = Packed<FloatAvx512<Avx512::F64, double, double>>::routine(),
    .f32 = Packed<FloatAvx512<Avx512::F32, float, float>>::routine(),
    .bf16_f32 = Packed<FloatAvx512<Avx512::F32, bf16, bf16>>::routine(),
    .s8_s32 = Packed<Int8Avx512<std::int8_t>>::routine(),
    .u8_s8 = Packed<Int8Avx512<std::uint8_t>>::routine(),
    .bf16_s8 = Packed<FloatAvx512<Avx512::F32, bf16, std::int8_t>>::routine()};

}  // namespace kernels::matmul
