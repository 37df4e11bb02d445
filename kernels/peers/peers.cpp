#include "kernels/peers/peers.hpp"

#include "kernels/peers/aocl.hpp"
#include "kernels/peers/blas.hpp"
#include "kernels/peers/ggml.hpp"
#include "kernels/peers/onednn.hpp"

namespace kernels::peers {

std::string tuned_openblas() { return openblas().tuned; }
std::string tuned_blis() { return blis().tuned; }
std::string missing_openblas() { return openblas().missing; }
std::string missing_blis() { return blis().missing; }
std::string missing_aocl_blas() { return aocl_blas().missing; }
std::string missing_aocl_dlp() { return aocl_dlp().missing; }
std::string missing_onednn() { return onednn().missing; }
std::string missing_mkl() { return mkl().missing; }
std::string missing_ggml() { return ggml().missing; }

}  // namespace kernels::peers
