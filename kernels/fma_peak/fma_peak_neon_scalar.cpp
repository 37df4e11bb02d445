// Idea: twelve chains of scalar fmadd. Untuned: has run under emulation only.
// Bound: the FMA pipes.
// Below it: nothing; it is the roof of code that was not vectorised.
#include "kernels/fma_peak/fma_peak_scalar.hpp"

namespace kernels::fma_peak {

extern const Kernel neon_scalar = scalar_kernel();

}  // namespace kernels::fma_peak
