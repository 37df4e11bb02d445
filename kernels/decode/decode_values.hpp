// The inputs of a decode step by layer, stage and index: the same on every device, and for the
// oracle.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/decode/decode.hpp"
#include "kernels/dtype.hpp"
#include "kernels/values.hpp"

namespace kernels::decode {

/// Seeds of one layer's values.
constexpr std::uint64_t seed(std::int64_t layer, int what) {
  return static_cast<std::uint64_t>(layer) * 16 + static_cast<std::uint64_t>(what) + 1;
}
inline constexpr int kSeedScale = kStages, kSeedK = 2 * kStages, kSeedV = kSeedK + 1;

/// Weights are uniform up to this, so that products keep the size of what they are applied to.
inline float weight_amplitude(std::int64_t depth) {
  return std::sqrt(3.0f / static_cast<float>(depth));
}
/// Element i of the weights of a stage.
template <class W>
W weight(std::int64_t layer, Stage stage, std::int64_t depth, std::int64_t i) {
  if constexpr (std::is_same_v<W, std::int8_t>)
    return random_value<W>(seed(layer, stage), i);
  else
    return W(weight_amplitude(depth) * random_value<float>(seed(layer, stage), i));
}
/// The scale of an int8 column.
inline float weight_scale(std::int64_t layer, Stage stage, std::int64_t depth,
                          std::int64_t column) {
  return weight_amplitude(depth) / 127 *
         (1 + 0.25f * random_value<float>(seed(layer, kSeedScale + stage), column));
}

/// The scale of an int8 row of K or V (`what`: kSeedK, kSeedV).
inline float cache_scale(std::int64_t layer, int what, std::int64_t row) {
  return (1 + 0.5f * random_value<float>(seed(layer, what), ~row)) / 127;
}

/// Element i of the residuals that a step starts from.
inline float start_value(std::int64_t i) { return 2 * random_value<float>(0, i); }

}  // namespace kernels::decode
