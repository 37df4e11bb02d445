// Idea: four pages side by side by 256-bit loads, lines asked for into L2 four kilobytes before
// and into L1 one before.
// Bound: main memory where it is read in pieces.
// Gains over avx2_into_l1: Zen 4, one core 1.23 to 1.43 times as fast, two, which memory holds
// back, 1.06 to 1.18: L2 waits for more lines at a time than L1.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::pages {

extern const Kernel avx2 = by_l2_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::pages
