// cuBLASLt, loaded at run time.
#pragma once

#include <string>

namespace kernels::cuda {

/// The first libcublasLt that loads: the loader's own search, CUDA's library folders, Python wheels
/// (nvidia/cublas/lib, nvidia/cu13/lib) beside $VIRTUAL_ENV, the user's and the system's Python.
/// Never unloaded. nullptr if there is none.
void* cublaslt_handle();

/// Empty if it loads and has what is used, else why not, in one line.
std::string missing_cublaslt();

}  // namespace kernels::cuda
