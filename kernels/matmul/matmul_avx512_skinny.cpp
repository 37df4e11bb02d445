// Idea: few rows: Y is streamed once from where it lies, all rows of X ride along; no packing.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx2_skinny: twice the vector: less to issue where Y is in cache or M is above 4.
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_skinny.hpp"

namespace kernels::matmul {
namespace {

/// Four rows of sums at a time are as many more chains of sums: Emerald Rapids, cold, 16 to 128
/// rows of floats, 1.03 to 1.14 times as fast; bytes 0.90 to 1.00. NOTES.md, "More rows of sums at
/// a time".
template <class E>
using ByRows = SkinnyByRows<E, 0, 4, Reading::streams>;

}  // namespace

extern const Kernel avx512_skinny = {
    .exec_unit = Avx512::kUnit,
    .f64 = ByRows<FloatAvx512<Avx512::F64, double, double>>::routine(),
    .f32 = ByRows<FloatAvx512<Avx512::F32, float, float>>::routine(),
    .bf16_f32 = ByRows<FloatAvx512<Avx512::F32, bf16, bf16>>::routine(),
    .s8_s32 = Skinny<Int8Avx512<std::int8_t>>::routine(),
    .u8_s8 = Skinny<Int8Avx512<std::uint8_t>>::routine(),
    .bf16_s8 = ByRows<FloatAvx512<Avx512::F32, bf16, std::int8_t>>::routine(),
    .max_m = 128};

}  // namespace kernels::matmul
