// Idea: GotoBLAS: packed panels, a 6 x 16 (f64: 6 x 8) tile of Z in twelve vector registers.
// Bound: two FMA a cycle; bf16 and int8 are widened in registers, int8 for vpmaddwd to 16 bits.
// Gains over blocked: every loaded vector of Y is used six times, every value of X for 16 columns.
#include "kernels/matmul/matmul_avx2.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {
extern const Kernel avx2_packed = {
    .exec_unit = Avx2::kUnit,
    .f64 = Packed<FloatAvx2<Avx2::F64, double, double>>::routine(),
    .f32 = Packed<FloatAvx2<Avx2::F32, float, float>>::routine(),
    .bf16_f32 = Packed<FloatAvx2<Avx2::F32, bf16, bf16>>::routine(),
    .s8_s32 = Packed<Int8Avx2<std::int8_t>>::routine(),
    .u8_s8 = Packed<Int8Avx2<std::uint8_t>>::routine(),
    .bf16_s8 = Packed<FloatAvx2<Avx2::F32, bf16, std::int8_t>>::routine()};

}  // namespace kernels::matmul
