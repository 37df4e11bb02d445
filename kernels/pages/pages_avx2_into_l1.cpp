// Idea: four pages side by side by 256-bit loads, lines asked for into L1 two kilobytes before.
// Bound: main memory where it is read in pieces.
// Gains: the first rung. Its requests are half of avx2's, for cores whose L1 waits for as many
// lines as their L2.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::pages {

extern const Kernel avx2_into_l1 = into_l1_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::pages
