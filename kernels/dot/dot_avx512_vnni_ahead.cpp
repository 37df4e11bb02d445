// Idea: avx512_vnni on lines that were asked for into L1 one kilobyte before.
// Bound: the read roof of L3.
// Gains over avx512_vnni: a core of Zen 5 reads 2.5 MB from L3 at 126 in place of 115 GB/s, larger
// sets no faster.
#include "kernels/dot/dot_simd.hpp"
#include "kernels/simd/avx512_vnni.hpp"

namespace kernels::dot {

extern const Kernel avx512_vnni_ahead = {.exec_unit = Avx512Vnni::kUnit,
                                         .least_bytes = kAheadIntoL1From,
                                         .s8 = dot_s8<Avx512Vnni::S8, AheadIntoL1, 8>};

}  // namespace kernels::dot
