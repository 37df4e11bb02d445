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

/// `count` stretches of `bytes`, each 256-byte aligned, out of one allocation: the driver takes
/// seconds for hundreds. Null each where `bytes` is 0. Throws Error.
inline std::vector<Memory> allocate_many(std::size_t count, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  if (bytes == 0) return std::vector<Memory>(count);
  if (count == 1) return {allocate(bytes)};
  const std::size_t step = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const Memory whole = allocate(count * step);
  std::vector<Memory> pieces;
  for (std::size_t i = 0; i < count; ++i)
    pieces.emplace_back(whole, static_cast<std::byte*>(whole.get()) + i * step);
  return pieces;
}

/// The first of allocate_many()'s to all others. Throws Error. The device must be waited for before
/// another stream uses them.
inline void copy_first(const std::vector<Memory>& pieces, std::size_t bytes) {
  if (bytes == 0) return;
  for (std::size_t i = 1; i < pieces.size(); ++i)
    CUDA_CHECK(cudaMemcpy(pieces[i].get(), pieces[0].get(), bytes, cudaMemcpyDeviceToDevice));
}

/// The same as allocate(), all zero before any stream can reach it. Throws Error.
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
