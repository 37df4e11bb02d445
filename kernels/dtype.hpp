// Number formats: names as they stand in benchmark names and CSVs, sizes, conversions.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace kernels {

/// bfloat16: the upper half of an IEEE binary32.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  /// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
  constexpr explicit bf16(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    bits = (u & 0x7fffffffu) > 0x7f800000u
               ? static_cast<std::uint16_t>((u >> 16) | 0x40u)
               : static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  constexpr explicit operator float() const {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  constexpr explicit operator double() const { return static_cast<float>(*this); }
};
static_assert(sizeof(bf16) == 2);

/// The dtype part of a benchmark name; `bf16xs8` is bf16 activations times int8 weights.
template <class T>
constexpr std::string_view dtype_name();
template <>
constexpr std::string_view dtype_name<double>() {
  return "f64";
}
template <>
constexpr std::string_view dtype_name<float>() {
  return "f32";
}
template <>
constexpr std::string_view dtype_name<bf16>() {
  return "bf16";
}
template <>
constexpr std::string_view dtype_name<std::int8_t>() {
  return "s8";
}
template <>
constexpr std::string_view dtype_name<std::int32_t>() {
  return "s32";
}

}  // namespace kernels
