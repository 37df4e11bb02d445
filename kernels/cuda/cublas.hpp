// cuBLAS and cuBLASLt, loaded at run time (library.hpp).
#pragma once

#include <string>

#include "kernels/cuda/library.hpp"

namespace kernels::cuda {

const Found& cublas();
const Found& cublaslt();

/// Empty if it loads and has what is used, else why not, in one line.
std::string missing_cublas();
std::string missing_cublaslt();

}  // namespace kernels::cuda

#define CUBLAS(name) \
  ::kernels::cuda::library_function<decltype(name)>(::kernels::cuda::cublas(), #name)
#define CUBLASLT(name) \
  ::kernels::cuda::library_function<decltype(name)>(::kernels::cuda::cublaslt(), #name)
