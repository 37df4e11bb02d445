// Idea: BLIS's cblas_sdot and cblas_ddot, one call over both vectors; neither is threaded.
// Bound: two loads a multiply-add, as for ours.
// A peer, not a rung.
#include "kernels/dot/dot_blas.hpp"

namespace kernels::dot {

extern const Kernel blis = blas_kernel<peers::blis>();

}  // namespace kernels::dot
