// Idea: the packed matmul with a low and wide tile, 6 x 64 (f64: 6 x 32) in 24 registers; bf16 is
// widened to fp32 as it is packed.
// Bound: as avx512_packed, where loads take clock from the multiply-adds: there are 10 for 24 of
// them, in place of 16 for 28.
// Gains over avx512_packed: on a Xeon with AMX, which lowers its clock for 512-bit arithmetic with
// loads, fp32 1.03 to 1.10 times as fast from 256 to 1024 cubed on one core, 1.02 to 1.06 on two,
// 0.99 to 1.03 at 2048; fp64 on two 1.03 to 1.07; 128 and 256 rows of cold weights packed before
// 1.01 to 1.09, up to 8 rows 0.94 to 1.0. A core of Zen 4: 1.00 to 1.01, Zen 5: 0.99 to 1.01.
// bf16 on a Xeon of Emerald Rapids whose AMX is hidden, where vdpbf16ps takes two cycles: squares
// 1.06 to 1.16 times as fast as avx512_packed, 1.9 as avx512_bf16_packed.
// NOTES.md, "A low and wide tile".
#include "kernels/matmul/matmul_avx512.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {

extern const Kernel avx512_wide = {.exec_unit = Avx512::kUnit,
                                   .f64 = Packed<WideAvx512<Avx512::F64, double>>::routine(),
                                   .f32 = Packed<WideAvx512<Avx512::F32, float>>::routine(),
                                   .bf16_f32 = Packed<WideAvx512<Avx512::F32, bf16>>::routine()};

}  // namespace kernels::matmul
