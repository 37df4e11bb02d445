#include "kernels/peers/peers.hpp"

namespace kernels::peers {

std::string missing_openblas() { return "OpenBLAS: no loader yet"; }
std::string missing_blis() { return "BLIS: no loader yet"; }
std::string missing_onednn() { return "oneDNN: no loader yet"; }
std::string missing_mkl() { return "MKL: no loader yet"; }

}  // namespace kernels::peers
