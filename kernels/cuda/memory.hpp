// Memory on the device and page-locked memory on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/cuda/check.hpp"

namespace kernels::cuda {

using Memory = std::shared_ptr<void>;

/// `bytes` of device memory, 256-byte aligned, not initialised. Throws Error.
inline Memory allocate(std::size_t bytes) {
  void* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, bytes == 0 ? 1 : bytes));
  return {p, [](void* q) { cudaFree(q); }};
}

/// The same, all zero before any stream can reach it. Throws Error.
inline Memory allocate_zeroed(std::size_t bytes) {
  Memory memory = allocate(bytes);
  CUDA_CHECK(cudaMemset(memory.get(), 0, bytes));
  CUDA_CHECK(cudaDeviceSynchronize());
  return memory;
}

/// Page-locked host memory that the device can reach under the same address. Throws Error.
inline Memory allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  CUDA_CHECK(cudaHostAlloc(&p, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
  return {p, [](void* q) { cudaFreeHost(q); }};
}

/// A copy on the device. Throws Error.
template <class T>
Memory upload(const std::vector<T>& host) {
  Memory memory = allocate(host.size() * sizeof(T));
  CUDA_CHECK(
      cudaMemcpy(memory.get(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
T* as(const Memory& memory) {
  return static_cast<T*>(memory.get());
}

}  // namespace kernels::cuda
