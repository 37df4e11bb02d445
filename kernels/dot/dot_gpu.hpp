// dot on a GPU: the contract of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace kernels::dot {

/// Device memory, 256-byte aligned. A result is double for f64, float for f32 and bf16, 64-bit for
/// s8. `workspace` is kWorkspaceBytes, zero before the first call; a variant leaves it ready for
/// the next one.
struct GpuArguments {
  const void *x, *y;
  std::int64_t n;
  void* results;  ///< [repeats]
  void* workspace;
  int sms;
  int repeats = 1;  ///< the same product so many times, one after the other; up to max_repeats
};

inline constexpr std::int64_t kWorkspaceBytes = 256 << 10;

/// Enqueues one product and returns how many launches it took; null: the dtype is not done.
using GpuLaunch = std::int64_t (*)(const GpuArguments&, cudaStream_t);

struct GpuKernel {
  GpuLaunch f64, f32, bf16, s8;
  std::int64_t max_n = 0;            ///< largest N that is offered; 0: any
  int max_repeats = 1;               ///< products that a launch can do
  std::string (*label)() = nullptr;  ///< further `key=value;` text; null: none
};

}  // namespace kernels::dot
