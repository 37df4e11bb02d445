// silu(gate) * up in bf16, in loops that become vectors of whatever instruction set the including
// file is compiled for. So all is in an unnamed namespace, and calls nothing that is not: a
// function compiled with such flags must never be merged with one that was not.
#pragma once

#include <cstdint>

#include "kernels/dtype.hpp"

namespace kernels {
namespace {

/// The bits of bf16(x), whose constructor other files share.
inline std::uint16_t bf16_bits(float x) {
  const auto u = __builtin_bit_cast(std::uint32_t, x);
  const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? (u >> 16) | 0x40u
                                           : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

/// x within ±most, NaN too. On bits, as the smaller of two integers is one operation: a choice
/// between floats GCC 12 makes a branch, and gate() behind it a product for the numbers beyond,
/// which is denormal for those within: 7.7 cycles an element.
inline float within(float most, float x) {
  const auto sign = __builtin_bit_cast(std::int32_t, x) & INT32_MIN,
             size = __builtin_bit_cast(std::int32_t, x) & INT32_MAX,
             bound = __builtin_bit_cast(std::int32_t, most);
  return __builtin_bit_cast(float, sign | (size < bound ? size : bound));
}

/// e^x to a relative 3e-7 + 7.4e-8 |x| (rounding of x log2(e) and of the constant) and no further
/// than 2^±126, without a branch or a call, so that loops become vectors: 2^f by the Taylor series
/// of the fraction f within a half of 0, times 2^whole.
inline float fast_exp(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it leaves a whole number
  const float scaled = within(126, x * 1.44269504f);
  const float whole = (scaled + kRound) - kRound, f = scaled - whole;
  float y = 1.5403530e-4f;
  y = y * f + 1.3333558e-3f;
  y = y * f + 9.6181291e-3f;
  y = y * f + 5.5504109e-2f;
  y = y * f + 2.4022651e-1f;
  y = y * f + 6.9314718e-1f;
  y = y * f + 1.0f;
  return y * __builtin_bit_cast(float, (static_cast<std::int32_t>(whole) + 127) << 23);
}

/// out = silu(gates) * up.
inline void silu_times(const float* gates, const float* up, std::int64_t n, bf16* out) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i].bits = bf16_bits(gates[i] / (1 + fast_exp(-gates[i])) * up[i]);
}

}  // namespace
}  // namespace kernels
