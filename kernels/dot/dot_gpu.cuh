// What the GPU variants of dot share: the type of a sum and one product.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/check.hpp"
#include "kernels/dot/dot_gpu.hpp"
#include "kernels/dtype.hpp"

namespace kernels::dot {

template <class T>
struct SumOf {
  using type = T;
};
template <>
struct SumOf<bf16> {
  using type = float;
};
template <>
struct SumOf<std::int8_t> {
  using type = long long;
};
template <class T>
using Sum = typename SumOf<T>::type;

template <class T>
__device__ __forceinline__ Sum<T> product(T x, T y) {
  return static_cast<Sum<T>>(x) * static_cast<Sum<T>>(y);
}

/// atomicAdd knows no signed 64-bit type; two's complement makes the unsigned one right.
__device__ __forceinline__ void atomic_add(float* p, float v) { atomicAdd(p, v); }
__device__ __forceinline__ void atomic_add(double* p, double v) { atomicAdd(p, v); }
__device__ __forceinline__ void atomic_add(long long* p, long long v) {
  atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
}

}  // namespace kernels::dot
