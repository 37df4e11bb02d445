// chase on a GPU: the contract of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace kernels::chase {

/// A line of device memory that holds the address of the next one.
struct alignas(128) GpuNode {
  const GpuNode* next;
};

/// A cycle of `count` nodes, of which `first` lies first, and where a walk stands (device memory).
struct GpuChain {
  const GpuNode* first;
  std::int64_t count;
  const GpuNode** at;
};

struct GpuKernel {
  /// One thread follows `loads` links from *chain.at and leaves where it ends there.
  void (*follow)(const GpuChain& chain, std::int64_t loads, cudaStream_t) = nullptr;
  /// Reads all nodes in order, by all SMs, so that L2 has them where it can; null where it need
  /// not.
  void (*touch)(const GpuChain& chain, cudaStream_t) = nullptr;
  /// Through a copy in shared memory, made at the beginning of every launch.
  bool in_shared = false;
};

/// Nodes that a walk in shared memory has at most.
inline constexpr std::int64_t kSharedNodes = 128;

}  // namespace kernels::chase
