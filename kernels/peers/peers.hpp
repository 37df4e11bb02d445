// Libraries that are compared with: looked for at run time, loaded with dlopen(RTLD_LOCAL), never
// linked, because several export the same symbols.
#pragma once

#include <string>

namespace kernels::peers {

/// Empty if the library can be loaded here, else why not, in words.
std::string missing_openblas();
std::string missing_blis();
std::string missing_aocl_blas();
std::string missing_aocl_dlp();
std::string missing_onednn();
std::string missing_mkl();
std::string missing_ggml();

/// Blas::tuned of a library that is there.
std::string tuned_openblas();
std::string tuned_blis();

}  // namespace kernels::peers
