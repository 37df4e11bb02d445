// Idea: few rows: Y is streamed once from where it lies, all rows of X ride along; no packing.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx2_skinny: twice the vector: less to issue where Y is in cache or M is above 4.
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_skinny.hpp"

namespace kernels::matmul {

extern const Kernel avx512_skinny = {
    .exec_unit = Avx512::kUnit,
    .f64 = Skinny<FloatAvx512<Avx512::F64, double, double>>::routine(),
    .f32 = Skinny<FloatAvx512<Avx512::F32, float, float>>::routine(),
    .bf16_f32 = Skinny<FloatAvx512<Avx512::F32, bf16, bf16>>::routine(),
    .s8_s32 = Skinny<Int8Avx512<std::int8_t>>::routine(),
    .u8_s8 = Skinny<Int8Avx512<std::uint8_t>>::routine(),
    .bf16_s8 = Skinny<FloatAvx512<Avx512::F32, bf16, std::int8_t>>::routine(),
    .max_m = 128};

}  // namespace kernels::matmul
