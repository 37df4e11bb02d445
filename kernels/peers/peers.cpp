#include "kernels/peers/peers.hpp"

#include "kernels/peers/blas.hpp"
#include "kernels/peers/onednn.hpp"

namespace kernels::peers {

std::string missing_openblas() { return openblas().missing; }
std::string missing_blis() { return blis().missing; }
std::string missing_onednn() { return onednn().missing; }
std::string missing_mkl() { return mkl().missing; }

}  // namespace kernels::peers
