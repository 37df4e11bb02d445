// Idea: int8 with vpdpbusd, four products a lane, on the packed matmul's panels.
// Bound: two vpdpbusd a cycle, 256 OP.
// Gains over avx512_packed: no widening to 16 bits and no separate add, 4 times the products.
#include "kernels/matmul/matmul_avx512_vnni.hpp"
#include "kernels/matmul/matmul_packed.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::matmul {

extern const Kernel avx512_vnni_packed = {.exec_unit = Avx512Vnni::kUnit,
                                          .s8_s32 = Packed<Int8Vnni<std::int8_t>>::routine(),
                                          .u8_s8 = Packed<Int8Vnni<std::uint8_t>>::routine()};

}  // namespace kernels::matmul
