// Idea: few rows: Y is streamed once from where it lies, all rows of X ride along; no packing.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx2_packed at M <= 32: no copy of Y, long sequential streams.
#include "kernels/matmul/matmul_avx2.hpp"
#include "kernels/matmul/matmul_skinny.hpp"

namespace kernels::matmul {

extern const Kernel avx2_skinny = {
    .exec_unit = Avx2::kUnit,
    .f64 = Skinny<FloatAvx2<Avx2::F64, double, double>>::routine(),
    .f32 = Skinny<FloatAvx2<Avx2::F32, float, float>>::routine(),
    .bf16_f32 = Skinny<FloatAvx2<Avx2::F32, bf16, bf16>>::routine(),
    .s8_s32 = Skinny<Int8Avx2<std::int8_t>>::routine(),
    .u8_s8 = Skinny<Int8Avx2<std::uint8_t>>::routine(),
    .bf16_s8 = Skinny<FloatAvx2<Avx2::F32, bf16, std::int8_t>>::routine(),
    .max_m = 32};

}  // namespace kernels::matmul
