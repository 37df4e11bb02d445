// 8-bit types as floating point in registers; int8 without conversions, of which an SM does few a
// clock.
#pragma once

#include <cuda_fp8.h>

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

/// Two e4m3, in bytes 0 and 1, as a pair of fp16, exactly.
__device__ __forceinline__ std::uint32_t widen_e4m3(std::uint32_t pair) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  const __half2_raw both =
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), __NV_E4M3);
  return both.x | static_cast<std::uint32_t>(both.y) << 16;
#else
  // No such instruction. Exponent and fraction where fp16 has its own are 2^8 too small, as the
  // biases are 7 and 15. NaN becomes 480: CUDA's own way in software takes so many registers that
  // sums are spilled.
  constexpr std::uint32_t k256 = 0x5c005c00;
  const std::uint32_t apart = __byte_perm(pair, 0, 0x4140);
  std::uint32_t both = (apart & 0x00800080u) << 8 | (apart & 0x007f007fu) << 7;
  ptx::fma_f16x2(both, k256, 0);
  return both;
#endif
}

}  // namespace kernels::cuda
