// int8 weights as bf16, in registers.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace kernels::matmul {

/// Two int8, in bytes 0 and 2, as a pair of bf16, exactly. 128 + v is 0x4300 | v for v in 0…127;
/// the sign bit is worth 128 less, and 128 more to subtract is the same bit there: 0x4300 is 128,
/// 0x4380 is 256.
__device__ __forceinline__ std::uint32_t widen_apart(std::uint32_t apart) {
  constexpr std::uint32_t k128 = 0x43004300, kMinusOne = 0xbf80bf80;
  std::uint32_t pair = (apart & 0x00800080u) | k128;
  cuda::ptx::fma_bf16x2(pair, kMinusOne, (apart & 0x007f007fu) | k128);
  return pair;
}
/// Bytes 0 and 1; bytes 2 and 3.
__device__ __forceinline__ std::uint32_t widen_low(std::uint32_t bytes) {
  return widen_apart(__byte_perm(bytes, 0, 0x4140));
}
__device__ __forceinline__ std::uint32_t widen_high(std::uint32_t bytes) {
  return widen_apart(__byte_perm(bytes, 0, 0x4342));
}

}  // namespace kernels::matmul
