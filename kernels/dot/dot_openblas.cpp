// Idea: OpenBLAS's cblas_sdot and cblas_ddot, one call over both vectors; ddot is threaded, sdot is
// not. Bound: two loads a multiply-add, as for ours. A peer, not a rung.
#include "kernels/dot/dot_blas.hpp"

namespace kernels::dot {

extern const Kernel openblas = blas_kernel<peers::openblas>();

}  // namespace kernels::dot
