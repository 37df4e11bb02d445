// link: bandwidth between the host and the device, one direction at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace kernels::link {

struct GpuKernel {
  void (*to_device)(void* device, const void* host, std::size_t bytes, cudaStream_t) = nullptr;
  void (*to_host)(void* host, const void* device, std::size_t bytes, cudaStream_t) = nullptr;
};

}  // namespace kernels::link
