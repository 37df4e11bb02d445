// What the tensor cores multiply, for the probes that issue to them: by mma.sync and by wgmma.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstring>
#include <type_traits>

#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/values.hpp"

namespace kernels::fma_peak {
namespace {

/// Longest contraction of a resident tile: 128 bytes of 8-bit elements.
constexpr int kMaxK = 128;

template <class T>
__host__ __device__ T element(std::uint64_t seed, int row, int k) {
  return random_value<T>(seed, row * kMaxK + k);
}
template <>
__host__ __device__ __half element<__half>(std::uint64_t seed, int row, int k) {
  return __float2half_rn(element<float>(seed, row, k));
}
template <>
__host__ __device__ __nv_fp8_e4m3 element<__nv_fp8_e4m3>(std::uint64_t seed, int row, int k) {
  return __nv_fp8_e4m3(element<float>(seed, row, k));
}

// `seen`: the value that the tensor core takes an operand for.
struct Tf32 {
  using Element = float;
  using Accumulator = float;
  /// The upper 19 bits only.
  static double seen(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, 4);
    u &= 0xffffe000u;
    std::memcpy(&x, &u, 4);
    return x;
  }
};
struct Bf16 {
  using Element = bf16;
  using Accumulator = float;
  static double seen(bf16 x) { return static_cast<double>(x); }
};
struct F16 {
  using Element = __half;
  using Accumulator = float;
  static double seen(__half x) { return __half2float(x); }
};
struct E4m3 {
  using Element = __nv_fp8_e4m3;
  using Accumulator = float;
  static double seen(__nv_fp8_e4m3 x) { return static_cast<float>(x); }
};
struct S8 {
  using Element = std::int8_t;
  using Accumulator = int;
  static double seen(std::int8_t x) { return x; }
};

/// What `additions` products that are added up one after the other may be off by, as a share of the
/// sum. Tensor cores do not round to nearest: an addition in fp32 cuts off up to 2^-21; Hopper adds
/// products of fp8 with 14 bits (DeepGEMM's README), int8's are exact.
template <class Type>
constexpr double tolerance(int additions) {
  if (sizeof(typename Type::Element) > 1) return additions * 0x1p-21;
  return std::is_same_v<Type, S8> ? 0 : additions * 0x1p-13;
}

}  // namespace
}  // namespace kernels::fma_peak
