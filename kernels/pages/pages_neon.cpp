// Idea: four pages side by side by 128-bit loads, asked for into L2 and then into L1.
// Bound: main memory where it is read in pieces.
// Gains: not known, it has run under emulation only.
#include "kernels/pages/pages_simd.hpp"
#include "kernels/simd/neon.hpp"

namespace kernels::pages {

extern const Kernel neon = by_l2_of<Neon::F32>(Neon::kUnit);

}  // namespace kernels::pages
