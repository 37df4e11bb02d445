// Idea: the 6 x 16 (f64: 6 x 8) tile on X where it lies, and so on a small Y; of a larger one a
// panel is packed just before.
// Bound: as avx2_packed, while L2 and L3 bring what L1 drops.
// Gains over avx2_packed: nothing is copied. In turns on Zen 5, one core: fp32 1.02 times as fast
// at 128 and 256 cubed, 1.03 at 512, 1.01 at 640; f64 1.03, 1.01, 0.7 (rows 4 KB apart) and 0.97.
#include "kernels/matmul/matmul_avx2.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {

extern const Kernel avx2_in_place = {
    .exec_unit = Avx2::kUnit,
    .f64 = InPlace<FloatAvx2<Avx2::F64, double, double>>::routine(),
    .f32 = InPlace<FloatAvx2<Avx2::F32, float, float>>::routine(),
    .offers = in_place_offers};

}  // namespace kernels::matmul
