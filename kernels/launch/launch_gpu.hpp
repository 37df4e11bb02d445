// launch: the time that an empty kernel takes from one launch to the next on one stream. A probe
// for the floor under every short kernel. One call is one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

namespace kernels::launch {

struct GpuKernel {
  /// Enqueues `count` empty kernels that each add 1 to *counter (device memory).
  void (*run)(void* state, unsigned long long* counter, std::int64_t count, cudaStream_t) = nullptr;
  /// What run() needs besides; null: nothing.
  std::shared_ptr<void> (*open)(unsigned long long* counter) = nullptr;
};

}  // namespace kernels::launch
