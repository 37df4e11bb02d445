// Idea: bf16 with vdpbf16ps, two products a lane, on the packed matmul's panels; int8 weights are
// turned into bf16, which holds them exactly, as they are packed.
// Bound: vdpbf16ps a cycle, one or two by core: 64 or 128 FLOP.
// Gains over avx512_packed: twice the products an instruction, half the bytes in the panels.
#include "kernels/matmul/matmul_avx512_bf16.hpp"
#include "kernels/matmul/matmul_packed.hpp"

namespace kernels::matmul {

extern const Kernel avx512_bf16_packed = {.exec_unit = Avx512Bf16::kUnit,
                                          .bf16_f32 = Packed<Bf16Engine<bf16>>::routine(),
                                          .bf16_s8 = Packed<Bf16Engine<std::int8_t>>::routine(),
                                          .bf16_roof = "bf16",
                                          .bf16_s8_roof = "bf16"};

}  // namespace kernels::matmul
