// Idea: few rows of int8 with vpdpbusd: four rows of Y are woven in registers as they are read.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx512_skinny: a third of the instructions at M = 8; cold, 4096 x 4096, four cores of
// Zen 4: 0.97 times as fast at M = 1, 1.6 at 8, 1.9 at 16. Over avx512_vnni_packed: 1.3 at M = 8,
// 1.06 at 32, 1.05 at 128; Emerald Rapids, two cores: 1.5 at 8, 1.36 at 32.
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_skinny.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::matmul {

extern const Kernel avx512_vnni_skinny = {
    .exec_unit = Avx512Vnni::kUnit,
    .s8_s32 = SkinnyByRows<Int8VnniRows<std::int8_t>, 6, 1, Reading::streams>::routine(),
    .u8_s8 = SkinnyByRows<Int8VnniRows<std::uint8_t>, 6, 1, Reading::streams>::routine(),
    .max_m = 128};

}  // namespace kernels::matmul
