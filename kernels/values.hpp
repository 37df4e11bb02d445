// Reproducible input values: the same on every thread, machine and device. Usable in device code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/dtype.hpp"

namespace kernels {

/// A hash of (seed, i): the same values whatever the number of threads.
constexpr std::uint64_t hash(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Uniform in [-1, 1) for floating types, whole numbers in [-127, 127] for int8.
template <class T>
constexpr T random_value(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t h = hash(seed, i);
  if constexpr (std::is_same_v<T, std::int8_t>)
    return static_cast<std::int8_t>(static_cast<int>(h % 255) - 127);
  else
    return static_cast<T>(static_cast<float>(h >> 40) * 0x1p-23f - 1.0f);
}

/// Nearly normal with mean 0 and variance 1: six uniform numbers of 21 bits added up (Irwin-Hall),
/// within +-4.3. Integers up to one rounding, so that every machine has the same bits.
template <class T>
constexpr T random_normal(std::uint64_t seed, std::uint64_t i) {
  constexpr std::int64_t kPart = (1 << 21) - 1;
  constexpr float kDeviation = 0.70710678f * 0x1p21f;
  std::int64_t sum = -3 * kPart;
  for (const std::uint64_t h : {hash(seed, 2 * i), hash(seed, 2 * i + 1)})
    for (const int shift : {0, 21, 42}) sum += static_cast<std::int64_t>(h >> shift) & kPart;
  return static_cast<T>(static_cast<float>(sum) * (1 / kDeviation));
}

/// Whole numbers in [-limit, limit]: sums of their products are exact in every order as long as
/// they stay below 2^24, so that a kernel's result must equal the oracle's to the bit.
template <class T>
constexpr T random_integer(std::uint64_t seed, std::uint64_t i, int limit) {
  const int value = static_cast<int>(hash(seed, i) % (2 * limit + 1)) - limit;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<float>(value));
}

}  // namespace kernels
