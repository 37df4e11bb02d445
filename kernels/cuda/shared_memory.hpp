// Dynamic shared memory of a kernel.
#pragma once

#include <cstddef>

#include "kernels/cuda/check.hpp"

namespace kernels::cuda {

/// Lets a kernel have more than 48 KB of shared memory.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
}

}  // namespace kernels::cuda
