// What the kernels for few rows share.
#pragma once

#include <cstdint>

namespace kernels::matmul {

constexpr int kFewRows = 64;  ///< the most

/// Calls f with the rows that a kernel is compiled for: 8, 16, 32 or 64.
template <class Function>
auto by_few_rows(std::int64_t m, Function f) {
  if (m <= 8) return f.template operator()<8>();
  if (m <= 16) return f.template operator()<16>();
  if (m <= 32) return f.template operator()<32>();
  return f.template operator()<kFewRows>();
}

/// Four sums side by side.
template <class Scalar>
struct alignas(16) Four {
  Scalar v[4] = {};
  __device__ __forceinline__ void add(const Four& other) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] += other.v[i];
  }
};

/// Writes four sums to a row of Z from `column` on, of which some may not be there.
template <class Scalar>
__device__ __forceinline__ void store_four(Scalar* z, const Four<Scalar>& sum, std::int64_t column,
                                           std::int64_t columns) {
  if (column + 3 < columns) {
    *reinterpret_cast<Four<Scalar>*>(z) = sum;
  } else {
#pragma unroll
    for (int i = 0; i < 3; ++i)
      if (column + i < columns) z[i] = sum.v[i];
  }
}

}  // namespace kernels::matmul
