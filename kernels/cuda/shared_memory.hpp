// Dynamic shared memory of a kernel.
#pragma once

#include <cstddef>

#include "kernels/cuda/check.hpp"

namespace kernels::cuda {

/// Lets a kernel have more than 48 KB of shared memory, and its SM as much as there is: two blocks
/// of 97 KB fit then, whatever the driver would guess.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
}

}  // namespace kernels::cuda
