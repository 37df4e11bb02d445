// Idea: small matrices: the 14 x 32 (f64: 14 x 16) tile on X and Y where they lie.
// Bound: as avx512_packed, while L2 and L3 bring what L1 drops; rows that are a multiple of 4 KB
// apart share so few sets of L1 that 1024 cubed in fp32 and 512 cubed in f64 are better packed.
// Gains over avx512_packed: nothing is copied. In turns on Zen 5, one core: fp32 1.06 times as fast
// at 128 cubed, 1.04 to 1.06 from 192 to 512, 1.02 at 640, 1.01 at 768, 0.9 at 1024; f64 1.05 to
// 1.07 from 128 to 500, 1.0 at 512, 1.02 to 1.03 at 576 and 640, 0.87 at 1024; two cores fp32 1.04
// to 1.08 up to 512, f64 1.08 to 1.11. On weights packed before f32 1.01 to 1.02 at 256, 1.05 at
// 512, 0.98 to 1.0 at 640; f64 1.05 to 1.07 at 256, 0.97 at 512, 1.0 to 1.03 at 640. Four steps of
// K unrolled: 0.78 to 1.01 times as fast.
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {

extern const Kernel avx512_in_place = {
    .exec_unit = Avx512::kUnit,
    .f64 = InPlace<FloatAvx512<Avx512::F64, double, double>>::routine(),
    .f32 = InPlace<FloatAvx512<Avx512::F32, float, float>>::routine(),
    .max_y = kInPlace};

}  // namespace kernels::matmul
