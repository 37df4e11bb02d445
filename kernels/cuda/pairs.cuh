// Two fp32 values as a pair of 16-bit ones in a word, the first in the lower half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

#include "kernels/dtype.hpp"

namespace kernels::cuda {

__device__ __forceinline__ std::uint32_t pair_of(bf16, float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  std::uint32_t word;
  memcpy(&word, &both, 4);
  return word;
}
__device__ __forceinline__ std::uint32_t pair_of(__half, float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  std::uint32_t word;
  memcpy(&word, &both, 4);
  return word;
}

}  // namespace kernels::cuda
