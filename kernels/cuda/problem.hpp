// What the harness knows of a problem on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/cuda/check.hpp"
#include "kernels/op.hpp"

namespace kernels::cuda {

class GpuProblem : public Problem {
 public:
  /// Enqueues `count` consecutive calls and returns how many launches that took. Call number i uses
  /// input copy i % slots. Allocates nothing, waits for nothing. Throws Error. What watch() was
  /// given is called where all work of a stretch is in the stream.
  virtual std::int64_t enqueue(std::int64_t first, std::int64_t count, cudaStream_t stream) = 0;

  void run(std::int64_t first, std::int64_t count) final {
    enqueue(first, count, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
  }
};

}  // namespace kernels::cuda
