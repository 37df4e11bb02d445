// Idea: four pages side by side by 128-bit loads, asked for into L2 and then into L1. Untuned.
// Bound: main memory where it is read in pieces.
// Gains over loads alone: lines of several pages in flight. It has run under emulation only.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::pages {

extern const Kernel neon = by_l2_of<Neon::F32>(Neon::kUnit);

}  // namespace kernels::pages
