// Idea: few rows of bf16 with vdpbf16ps: two rows of Y are woven in registers as they are read.
// Bound: the read bandwidth of the level that holds Y, while M is below the ridge.
// Gains over avx512_skinny: no widening and half the multiply-adds; cold, 4096 x 4096, four cores
// of Zen 4: bf16 1.02 times as fast at M = 1, 1.14 at 8, 1.6 at 16; int8 weights, widened in
// registers, 0.99 at M = 1, 1.46 at 8, 1.7 at 32. Over avx512_bf16_packed: bf16 1.26 at M = 8, 1.1
// at 32, 1.03 at 128; int8 weights 1.6 at M = 8, 1.13 at 32, 1.07 at 128.
#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_skinny.hpp"

namespace kernels::matmul {

extern const Kernel avx512_bf16_skinny = {
    .exec_unit = Avx512Bf16::kUnit,
    .bf16_f32 = SkinnyByRows<Bf16Rows<bf16>, 6, 4, Reading::in_order>::routine(),
    .bf16_s8 = SkinnyByRows<Bf16Rows<std::int8_t>, 6, 4, Reading::in_order>::routine(),
    .bf16_roof = "bf16",
    .bf16_s8_roof = "bf16",
    .max_m = 128};

}  // namespace kernels::matmul
