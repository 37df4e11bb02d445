// Idea: the 6 x 64 (f64: 6 x 32) tile on X where it lies, and so on a small Y; of a larger one a
// panel is packed just before.
// Bound: as avx512_wide, while L2 and L3 bring what L1 drops.
// Gains over avx512_packed: X is not copied. In turns on Zen 5, one core: fp32 1.04 times as fast
// at 512 cubed, 1.03 at 1024, 1.00 to 1.01 at 2048; f64 1.05, 1.03 and 1.01; two cores 1.03 at 1024
// in both, packed before 1.03 (fp32) and 1.05. A panel of Y has a quarter of L2: by half of it 0.97
// to 1.00, by an eighth 0.97 to 0.99, all of K 0.93 to 1.01; not packed, 1024 cubed 0.85 (fp32)
// and 0.8. Zen 4, one core, nothing packed: fp32 1.02 times as fast at 512 cubed, 0.99 at 768, 0.98
// at 1024; f64 1.00 at 512, 640 and 768.
// A tile of 14 x 32 (f64: 14 x 16), whose rows of X, a multiple of 4 KB apart, share too few sets
// of L1: on Zen 4 0.985 of this in fp32 at 512 cubed, 0.81 at 1024, f64 0.95 at 500, 0.81 at 512
// (packed before 0.79), others 1.00. By that tile, against avx512_packed on Zen 5, one core: fp32
// 1.06 at 128 cubed, 1.04 to 1.06 from 192 to 512, 1.02 at 640, 1.01 at 768, 0.9 at 1024; f64 1.05
// to 1.07 from 128 to 500, 1.0 at 512, 1.02 to 1.03 at 576 and 640, 0.87 at 1024; two cores fp32
// 1.04 to 1.08 up to 512, f64 1.08 to 1.11; packed before f32 1.01 to 1.02 at 256, 1.05 at 512, f64
// 1.05 to 1.07 at 256, 0.97 at 512. Four steps of K unrolled: 0.78 to 1.01 times as fast.
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {

extern const Kernel avx512_in_place = {.exec_unit = Avx512::kUnit,
                                       .f64 = InPlace<WideAvx512<Avx512::F64>>::routine(),
                                       .f32 = InPlace<WideAvx512<Avx512::F32>>::routine(),
                                       .offers = in_place_offers};

}  // namespace kernels::matmul
