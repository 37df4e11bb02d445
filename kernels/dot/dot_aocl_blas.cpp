// Idea: AOCL-BLAS's cblas_sdot and cblas_ddot, one call over both vectors.
// Bound: two loads a multiply-add, as for ours.
// A peer, not a rung.
#include "kernels/dot/dot_blas.hpp"

namespace kernels::dot {

extern const Kernel aocl_blas = blas_kernel<peers::aocl_blas>();

}  // namespace kernels::dot
