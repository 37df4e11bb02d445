// chase on a GPU: the contract of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kernels::chase {

/// A line of device memory that holds the address of the next one.
struct alignas(128) GpuNode {
  const GpuNode* next;
};

struct GpuKernel {
  /// One thread follows `loads` links from *at and leaves where it ends in *at (device memory).
  void (*follow)(const GpuNode** at, std::int64_t loads, cudaStream_t) = nullptr;
};

}  // namespace kernels::chase
