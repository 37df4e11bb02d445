// What the GPU variants of dot share: the type of a sum, products, sums over warps and blocks.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cuda/check.hpp"
#include "kernels/cuda/ptx.cuh"
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

template <class T>
__device__ __forceinline__ Sum<T> dot_16_bytes(uint4 x, uint4 y, Sum<T> sum) {
  constexpr int kElements = 16 / sizeof(T);
  T a[kElements], b[kElements];
  memcpy(a, &x, sizeof a);
  memcpy(b, &y, sizeof b);
#pragma unroll
  for (int i = 0; i < kElements; ++i) sum += product(a[i], b[i]);
  return sum;
}
/// At most 16 * 127^2: far from overflow before it is widened.
template <>
__device__ __forceinline__ long long dot_16_bytes<std::int8_t>(uint4 x, uint4 y, long long sum) {
  int s = __dp4a(static_cast<int>(x.x), static_cast<int>(y.x), 0);
  s = __dp4a(static_cast<int>(x.y), static_cast<int>(y.y), s);
  s = __dp4a(static_cast<int>(x.z), static_cast<int>(y.z), s);
  return sum + __dp4a(static_cast<int>(x.w), static_cast<int>(y.w), s);
}

template <class S>
__device__ __forceinline__ S warp_sum(S sum) {
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  return sum;
}

/// The sum over a block of kThreads, in thread 0.
template <int kThreads, class S>
__device__ __forceinline__ S block_sum(S sum, S* of_warps) {
  constexpr int kWarps = kThreads / 32;
  static_assert(kWarps <= 32, "one warp adds up the warps' sums");
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  return warp_sum(threadIdx.x < kWarps ? of_warps[threadIdx.x] : S{0});
}

/// What this thread has of x . y, with kUnroll 16-byte vectors of x and of y in flight.
template <int kThreads, int kUnroll, class T>
__device__ __forceinline__ Sum<T> share(const T* x, const T* y, std::int64_t n) {
  constexpr std::int64_t kElements = 16 / sizeof(T);
  const auto* xv = reinterpret_cast<const uint4*>(x);
  const std::int64_t vectors = n / kElements;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;

  Sum<T> sum[kUnroll] = {};
  // One pointer that moves, and where y lies from there: registers are what two blocks an SM lack.
  const std::int64_t to_y = reinterpret_cast<const char*>(y) - reinterpret_cast<const char*>(x);
  const auto y_at = [&](const uint4* at) { return reinterpret_cast<const char*>(at) + to_y; };
  const uint4* at = xv + first;
  const uint4* const end = xv + vectors;
  const auto next = [&](bool whole) {
    uint4 a[kUnroll], b[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint4* from = at + u * step;
      if (whole) {
        a[u] = cuda::ptx::load_streaming(from);
        b[u] = cuda::ptx::load_streaming(y_at(from));
      } else {
        a[u] = cuda::ptx::load_streaming_if(from, from < end);
        b[u] = cuda::ptx::load_streaming_if(y_at(from), from < end);
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum[u] = dot_16_bytes<T>(a[u], b[u], sum[u]);
  };
#pragma unroll 1
  for (; at + (kUnroll - 1) * step < end; at += kUnroll * step) next(true);
  // The rest at once too: what is missing is zeros. Read in their place, the last vector would be
  // asked for by every thread of a set of a few megabytes.
  if (at < end) next(false);
  if (const std::int64_t tail = vectors * kElements + first; tail < n)
    sum[0] += product(x[tail], y[tail]);

  Sum<T> mine = sum[0];
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) mine += sum[u];
  return mine;
}

}  // namespace kernels::dot
