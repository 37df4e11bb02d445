// The one check of CUDA calls: file, line and expression.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <stdexcept>

namespace kernels::cuda {

/// A CUDA call that failed. The text is one line: expression, what the runtime says, file and line.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a library refuses.
struct Unsupported : Error {
  using Error::Error;
};

/// Device or page-locked memory that could not be had.
struct OutOfMemory : std::bad_alloc {
  const char* what() const noexcept override { return "out of device or page-locked memory"; }
};

/// Throws OutOfMemory where memory is what was missing, else Error, unless `status` is cudaSuccess.
void check(cudaError_t status, const char* expression, const char* file, int line);

}  // namespace kernels::cuda

#define CUDA_CHECK(expression) ::kernels::cuda::check((expression), #expression, __FILE__, __LINE__)

/// Stands behind every launch. A fault inside the kernel shows at the next synchronisation.
#define CUDA_CHECK_LAUNCH(kernel) \
  ::kernels::cuda::check(cudaGetLastError(), "launch of " kernel, __FILE__, __LINE__)
