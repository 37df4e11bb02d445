// Idea: the chains of avx2, one element an instruction (vfmadd231ss and sd).
// Bound: two FMA pipes.
// Below it: nothing; it is the roof of code that was not vectorised.
#include "kernels/fma_peak/fma_peak_scalar.hpp"

namespace kernels::fma_peak {

extern const Kernel avx2_scalar = scalar_kernel();

}  // namespace kernels::fma_peak
