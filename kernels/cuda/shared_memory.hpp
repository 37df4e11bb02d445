// Dynamic shared memory of a kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/device.hpp"

namespace kernels::cuda {

/// What an SM keeps of its shared memory for each block.
inline constexpr std::size_t kReservedShared = 1024;

/// How many blocks with so many bytes of shared memory an SM holds; at least 1.
inline int blocks_that_share(std::size_t bytes) {
  const auto all = static_cast<std::size_t>(device().shared_per_sm);
  return std::max(1, static_cast<int>(all / (bytes + kReservedShared)));
}

/// Lets a kernel have more than 48 KB of shared memory, and its SM as much as there is: two blocks
/// of 97 KB fit then, whatever the driver would guess. With `blocks`, no more of it than so many
/// need: the rest is L1, where loads on their way to registers have their places. Throws
/// Unsupported where the chip gives a block less.
template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes, int blocks = 0) {
  const auto most = static_cast<std::size_t>(device().shared_per_block);
  const auto all = static_cast<std::size_t>(device().shared_per_sm);
  if (most > 0 && bytes > most)
    throw Unsupported("needs " + std::to_string((bytes + 1023) >> 10) +
                      " KB of shared memory a block, this GPU gives " + std::to_string(most >> 10));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)));
  int percent = cudaSharedmemCarveoutMaxShared;
  if (blocks > 0 && all > 0)
    percent = static_cast<int>(
        std::min<std::size_t>((blocks * (bytes + kReservedShared) * 100 + all - 1) / all, 100));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent));
}

}  // namespace kernels::cuda
