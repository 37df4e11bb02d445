// Idea: MKL's cblas_sdot and cblas_ddot, one call over both vectors; both are threaded.
// Bound: two loads a multiply-add, as for ours.
// A peer, not a rung.
#include "kernels/dot/dot_blas.hpp"

namespace kernels::dot {

extern const Kernel mkl = blas_kernel<peers::mkl>();

}  // namespace kernels::dot
