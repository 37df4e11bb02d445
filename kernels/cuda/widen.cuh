// int8 as floating point in registers, without conversions, of which an SM does few a clock.
#pragma once

#include "kernels/cuda/ptx.cuh"

namespace kernels::cuda {

/// Two int8, in bytes 0 and 2, as a pair of bf16, exactly. 128 + v is 0x4300 | v for v in 0…127;
/// the sign bit is worth 128 less, and 128 more to subtract is the same bit there: 0x4300 is 128,
/// 0x4380 is 256.
__device__ __forceinline__ std::uint32_t widen_apart(std::uint32_t apart) {
  constexpr std::uint32_t k128 = 0x43004300, kMinusOne = 0xbf80bf80;
  std::uint32_t pair = (apart & 0x00800080u) | k128;
  ptx::fma_bf16x2(pair, kMinusOne, (apart & 0x007f007fu) | k128);
  return pair;
}
/// Bytes 0 and 1; bytes 2 and 3.
__device__ __forceinline__ std::uint32_t widen_low(std::uint32_t bytes) {
  return widen_apart(__byte_perm(bytes, 0, 0x4140));
}
__device__ __forceinline__ std::uint32_t widen_high(std::uint32_t bytes) {
  return widen_apart(__byte_perm(bytes, 0, 0x4342));
}

/// Byte i of `flipped`, whose sign bits are the other way round, as fp32: 2^23 + 128 + v is an
/// integer in the last place.
__device__ __forceinline__ float widen_flipped(std::uint32_t flipped, int i) {
  return __uint_as_float(__byte_perm(flipped, 0x4b000000, 0x7540 + i)) - 8388736.0f;
}

}  // namespace kernels::cuda
