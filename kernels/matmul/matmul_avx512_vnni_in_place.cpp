// Idea: small matrices of int8: the 14 x 32 tile on X where it lies and two panels of Y, packed
// just before.
// Bound: as avx512_vnni_packed, while L2 brings X's rows again for every panel.
// Gains over avx512_vnni_packed: X is not copied. In turns on Zen 4, one core: 1.06 times as fast
// at 128 cubed, 1.02 to 1.03 at 256, 1.025 at 384, 1.01 at 512, 1.00 at 640; two cores 1.06 to 1.07
// at 256, 1.02 at 512. On weights packed before 1.02 and 1.01, two cores 1.12 and 1.03. Zen 5, one
// core: 1.03 at 256, 1.035 at 512, 1.015 at 768, 0.97 to 0.985 at 1024, 0.99 at 2048; by a tile of
// 6 x 64 0.985 to 1.00 of that up to 768, 1.02 at 1024 and 2048.
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_in_place.hpp"

namespace kernels::matmul {
namespace {

bool offers(std::string_view, const Shape& s, int) { return s.k % 4 == 0; }

}  // namespace

extern const Kernel avx512_vnni_in_place = {.exec_unit = "simd-avx512-vnni",
                                            .s8_s32 = InPlace<Int8Vnni<std::int8_t>>::routine(),
                                            .u8_s8 = InPlace<Int8Vnni<std::uint8_t>>::routine(),
                                            .max_y = kInPlace,
                                            .offers = offers};

}  // namespace kernels::matmul
