// What lies between the kernels of a decode step, row by row. A row is one sequence.
#pragma once

#include <algorithm>
#include <bit>
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

/// e^x to a relative 3e-7 + 7.4e-8 |x| (rounding of x log2(e) and of the constant) and no further
/// than 2^±126, without a branch or a call, so that loops become vectors: 2^f by the Taylor series
/// of the fraction f within a half of 0, times 2^whole.
inline float fast_exp(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it leaves a whole number
  const float scaled = std::min(126.0f, std::max(-126.0f, x * 1.44269504f));
  const float whole = (scaled + kRound) - kRound, f = scaled - whole;
  float y = 1.5403530e-4f;
  y = y * f + 1.3333558e-3f;
  y = y * f + 9.6181291e-3f;
  y = y * f + 5.5504109e-2f;
  y = y * f + 2.4022651e-1f;
  y = y * f + 6.9314718e-1f;
  y = y * f + 1.0f;
  return y * std::bit_cast<float>((static_cast<std::int32_t>(whole) + 127) << 23);
}

inline void gate(const float* gates, const float* up, std::int64_t n, bf16* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = bf16(gates[i] / (1 + fast_exp(-gates[i])) * up[i]);
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
