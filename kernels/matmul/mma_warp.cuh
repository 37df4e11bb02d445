// What the mma.sync rungs of large products share: their types, and how a warp's sums reach Z.
#pragma once

#include <cstdint>

#include "kernels/cuda/pairs.cuh"
#include "kernels/cuda/ptx.cuh"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::matmul::mma {

/// Elements of `bytes` bytes, whose products `kMma` adds to sums of type `Sum`.
template <int bytes, class Sum,
          void (*kMma)(Sum (&)[4], const std::uint32_t (&)[4], const std::uint32_t (&)[2])>
struct Product {
  static constexpr int kBytes = bytes;
  using Accumulator = Sum;
  static __device__ __forceinline__ void mma(Sum (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
    kMma(d, a, b);
  }
};
struct Bf16 : Product<2, float, cuda::ptx::mma_bf16> {};
struct F16 : Product<2, float, cuda::ptx::mma_f16> {};
struct Tf32 : Product<4, float, cuda::ptx::mma_tf32> {};
struct S8 : Product<1, int, cuda::ptx::mma_s8> {};

/// Two values that leave in one store.
template <class Out>
struct alignas(2 * sizeof(Out)) Pair {
  Out values[2];
  template <class Accumulator>
  __device__ __forceinline__ Pair(Accumulator first, Accumulator second) {
    if constexpr (sizeof(Out) == 2) {
      const std::uint32_t word = cuda::pair_of(Out{}, first, second);
      memcpy(values, &word, sizeof word);
    } else {
      values[0] = first;
      values[1] = second;
    }
  }
};

/// A warp's sums into Z, of `Out`s, of matrix `batch`, as far as it goes: d[i][j] is what an
/// instruction makes of rows `first_row` + 16 i … and columns `first_column` + 8 j ….
template <class Out, class Accumulator, int kRowTiles, int kColumnTiles>
__device__ __forceinline__ void store_sums(const GpuArguments& a,
                                           const Accumulator (&d)[kRowTiles][kColumnTiles][4],
                                           std::int64_t first_row, std::int64_t first_column,
                                           int batch) {
  const int lane = threadIdx.x % 32;
  auto* z = static_cast<Out*>(a.z) + batch * a.z_stride;
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = first_row + 16 * i + lane / 4 + 8 * half;
        const std::int64_t column = first_column + 8 * j + 2 * (lane % 4);
        if (row >= a.m || column >= a.n) continue;
        Out* to = z + row * a.z_pitch + column;
        const Pair<Out> pair(d[i][j][2 * half], d[i][j][2 * half + 1]);
        if (column + 1 < a.n)
          *reinterpret_cast<Pair<Out>*>(to) = pair;
        else
          *to = pair.values[0];
      }
}

}  // namespace kernels::matmul::mma
