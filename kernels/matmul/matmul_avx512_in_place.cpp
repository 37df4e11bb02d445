// Idea: the 6 x 64 (f64: 6 x 32) tile on X where it lies, and so on a small Y; of a larger one a
// panel is packed just before.
// Bound: as avx512_wide, while L2 and L3 bring what L1 drops.
// Gains over avx512_packed: X is not copied; fp32 of 512 cubed 1.04 times as fast on one core of
// Zen 5. NOTES.md, "X where it lies, fp32 and fp64".
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {

extern const Kernel avx512_in_place = {.exec_unit = Avx512::kUnit,
                                       .f64 = InPlace<WideAvx512<Avx512::F64, double>>::routine(),
                                       .f32 = InPlace<WideAvx512<Avx512::F32, float>>::routine(),
                                       .offers = in_place_offers};

}  // namespace kernels::matmul
