// What lies between the kernels of a decode step, row by row. A row is one sequence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/decode/decode.hpp"
#include "kernels/dtype.hpp"

namespace kernels::decode {

/// x / rms(x), without a gain.
inline void normalise(const float* x, std::int64_t n, bf16* out) {
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
  const float factor = 1 / std::sqrt(squares / static_cast<float>(n) + kNormEpsilon);
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16(x[i] * factor);
}

inline void add(float* x, const float* more, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] += more[i];
}

inline void narrow(const float* x, std::int64_t n, bf16* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16(x[i]);
}

inline void gate(const float* gates, const float* up, std::int64_t n, bf16* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16(gates[i] / (1 + std::exp(-gates[i])) * up[i]);
}

/// A row of K or V on its way into the cache; `scale` is that of an int8 row, else not used.
template <class T>
void store(const float* row, std::int64_t n, T* out, [[maybe_unused]] float* scale) {
  if constexpr (std::is_same_v<T, bf16>) {
    narrow(row, n, out);
  } else {
    float most = 0;
    for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(row[i]));
    *scale = most > 0 ? most / 127 : 1;
    const float factor = 1 / *scale;
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(std::lrint(row[i] * factor));
  }
}

}  // namespace kernels::decode
