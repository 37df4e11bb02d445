// Idea: four pages side by side by 256-bit loads, lines asked for into L1 two kilobytes before.
// Bound: main memory where it is read in pieces.
// Gains over loads alone: lines of four pages are in flight before the hardware has seen where a
// page goes.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/avx2.hpp"

namespace kernels::pages {

extern const Kernel avx2_into_l1 = into_l1_of<Avx2::F32>(Avx2::kUnit);

}  // namespace kernels::pages
