// Idea: int8 with vpdpbusd on the low and wide tile of avx512_wide, 6 x 64 in 24 registers.
// Bound: as avx512_vnni_packed; 10 loads for 24 instructions, in place of 16 for 28.
// Gains over avx512_vnni_packed, on a Xeon of Emerald Rapids whose AMX is hidden: squares of 256 to
// 2048 1.01 to 1.04 times as fast, 256 rows of cold weights 1.10; up to 32 rows of weights packed
// before 0.95. NOTES.md, "A low and wide tile".
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::matmul {

extern const Kernel avx512_vnni_wide = {.exec_unit = Avx512Vnni::kUnit,
                                        .s8_s32 = Packed<Int8Vnni<std::int8_t, 6, 4>>::routine(),
                                        .u8_s8 = Packed<Int8Vnni<std::uint8_t, 6, 4>>::routine()};

}  // namespace kernels::matmul
