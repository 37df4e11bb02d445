// cuBLAS and cuBLASLt, loaded at run time.
#pragma once

#include <dlfcn.h>

#include <string>

#include "kernels/cuda/check.hpp"

namespace kernels::cuda {

/// The first libcublas or libcublasLt that loads: the loader's own search, CUDA's library folders,
/// Python wheels (nvidia/cublas/lib, nvidia/cu13/lib) beside $VIRTUAL_ENV, the user's and the
/// system's Python. Never unloaded. nullptr if there is none.
void* cublas_handle();
void* cublaslt_handle();

/// Empty if it loads and has what is used, else why not, in one line.
std::string missing_cublas();
std::string missing_cublaslt();

/// A function of one of them. Throws Error if it has none of that name.
template <class Function>
Function* library_function(void* library, const char* name) {
  auto* f = reinterpret_cast<Function*>(dlsym(library, name));
  if (f == nullptr) throw Error(std::string("the library found has no ") + name);
  return f;
}

}  // namespace kernels::cuda

#define CUBLAS(name) \
  ::kernels::cuda::library_function<decltype(name)>(::kernels::cuda::cublas_handle(), #name)
#define CUBLASLT(name) \
  ::kernels::cuda::library_function<decltype(name)>(::kernels::cuda::cublaslt_handle(), #name)
