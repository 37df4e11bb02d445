// Functions of the driver, by the runtime: nothing links against libcuda, and a program starts
// without a driver.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/cuda/check.hpp"

namespace kernels::cuda {

/// The function of that name as CUDA `version` (12000 = 12.0) has it. Throws Unsupported if
/// the driver has none.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &f, version, cudaEnableDefault, &result));
#else
  static_cast<void>(version);
  CUDA_CHECK(cudaGetDriverEntryPoint(name, &f, cudaEnableDefault, &result));
#endif
  if (result != cudaDriverEntryPointSuccess)
    throw Unsupported(std::string("the NVIDIA driver has no ") + name);
  return reinterpret_cast<Function>(f);
}

}  // namespace kernels::cuda
