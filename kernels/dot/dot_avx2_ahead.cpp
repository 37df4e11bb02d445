// Idea: 256-bit loads of lines that were asked for two kilobytes before, at the pace of the loads.
// Bound: the read roof of L3 and of main memory.
// Gains over avx2: a Xeon with AMX, whose prefetchers do not cover 400 ns, reads main memory at 65
// in place of 56 GB/s on four cores, 18 in place of 16 on one. On Zen 4 it costs a quarter in L3.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::dot {

extern const Kernel avx2_ahead = {.exec_unit = Avx2::kUnit,
                                  .least_bytes = kAheadFrom,
                                  .f64 = dot_float<Avx2::F64, double, Ahead<6>>,
                                  .f32 = dot_float<Avx2::F32, float, Ahead<6>>,
                                  .bf16 = dot_bf16_widened<Avx2::F32, Ahead<6>>,
                                  .s8 = dot_s8<Avx2::S8, Ahead<6>>};

}  // namespace kernels::dot
