// Idea: four pages side by side by 256-bit loads, lines asked for into L2 a page or two before and
// into L1 a kilobyte before.
// Bound: main memory where it is read in pieces.
// Gains over avx2_into_l1: L2 waits for more lines at a time than L1, and the second request finds
// them near. One, two and eight pages side by side were slower on a core of Zen 4.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::pages {

extern const Kernel avx2 = by_l2_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::pages
