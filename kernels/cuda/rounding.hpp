// Rounding a double to 16 bits once, as a fused multiply-add in that format does.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace kernels::cuda {

/// The float from which rounding to at most 22 bits gives what rounding `x` itself would give: what
/// is cut off leaves an odd last bit (Boldo and Melquiond, 'Emulation of FMA and correctly rounded
/// sums', 2008).
inline float round_to_odd(double x) {
  float f = static_cast<float>(x);
  if (static_cast<double>(f) == x) return f;
  if (std::abs(static_cast<double>(f)) > std::abs(x)) f = std::nextafter(f, 0.0f);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(f) | 1u);
}

}  // namespace kernels::cuda
