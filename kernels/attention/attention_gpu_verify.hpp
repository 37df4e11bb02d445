// The oracle of attention on a GPU: one head in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/attention/attention_gpu_inputs.hpp"
#include "kernels/attention/attention_verify.hpp"

namespace kernels::attention {

/// Whether tensor cores multiply in bf16, else in f16; and half a unit of its last place.
inline bool in_bf16(cuda::Type type) { return type == cuda::Type::bf16 || type == cuda::Type::s8; }
inline double half_unit(cuda::Type type) { return in_bf16(type) ? 0x1p-9 : 0x1p-12; }

/// Whether weights of an int8 cache are whole numbers.
inline bool whole_weights(const GpuKernel& kernel, cuda::Type type) {
  return type == cuda::Type::s8 && kernel.two_terms.s8_weight > 0;
}

/// Checks the output of one head, of `batch` times `heads`, in double, from the values that the
/// inputs must have. Empty when right, else what differs. `got` is [batch][heads][head_dim].
inline std::string check_head(const GpuInputs& inputs, const GpuKernel& kernel, std::int64_t head,
                              const std::vector<float>& got) {
  const Shape& s = inputs.shape();
  const cuda::Type type = inputs.type();
  const bool scaled = inputs.scaled(), whole = whole_weights(kernel, type);
  const std::int64_t b = head / s.heads, kv_head = head % s.heads / (s.heads / s.kv_heads);
  const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
  const std::int64_t length = length_of(s, b);
  std::vector<double> p(length), q(s.head_dim), keys(s.head_dim);
  double q_max = 0, scale_max = 0;
  for (std::int64_t d = 0; d < s.head_dim; ++d) {
    q[d] = GpuInputs::query(head * s.head_dim + d);
    q_max = std::max(q_max, std::abs(q[d]));
  }
  double max = -std::numeric_limits<double>::infinity(), score_error = 0;
  const TwoTerms& two = kernel.two_terms;
  const double rounding = kernel.tensor_cores && !whole ? half_unit(type) : 0;
  const bool two_terms = two.s8_query > 0 && cuda::size_of(type) == 1;
  const double query_rounding = two_terms ? 0 : rounding;
  const double whole_query = scaled ? two.s8_query * q_max : 0;
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t row = inputs.row_of(b, kv_head, t);
    inputs.keys_of(row, keys);
    double dot = 0, magnitude = 0, squares = 0, key_squares = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const double term = q[d] * keys[d];
      dot += term;
      magnitude += std::abs(term);
      squares += term * term;
      key_squares += keys[d] * keys[d];
    }
    const double factor = scaled ? scale * scale_value(kSeedKScale, row) : scale;
    p[t] = dot * factor;
    max = std::max(max, p[t]);
    const double error = (walk(s.head_dim) + 8) * kEps * magnitude +
                         walk(1) * query_rounding * std::sqrt(squares) +
                         walk(1) * whole_query * std::sqrt(key_squares);
    score_error = std::max(score_error, error * factor);
    if (scaled) scale_max = std::max<double>(scale_max, scale_value(kSeedVScale, row));
  }
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - max);
  // Whole weights are rounded up as often as their fraction says: its variance is f (1 - f).
  const double unit = whole ? two.s8_weight * scale_max / sum : 0;
  std::vector<double> out(s.head_dim), magnitude(s.head_dim), variance(s.head_dim);
  for (std::int64_t t = 0; t < length; ++t) {
    const std::int64_t row = inputs.row_of(b, kv_head, t);
    const double weight = p[t] / sum * (scaled ? scale_value(kSeedVScale, row) : 1.0f);
    const double of_weight = unit * std::min(unit / 4, weight);
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const double value = cuda::value_at(type, kSeedV, row * s.head_dim + d, cuda::Values::random);
      out[d] += weight * value;
      magnitude[d] += std::abs(weight * value);
      variance[d] += of_weight * value * value;
    }
  }
  // As on the CPU (attention_verify.hpp): a score's error moves its weight, numerator and
  // denominator alike, and both sums run over the context, each a random walk three deviations
  // wide. exp2f is good to 2 units in the last place, after a product with log2(e) that rounds the
  // query again.
  const double relative = 2 * (score_error + 4 * kEps + rounding) + 2 * (walk(length) + 8) * kEps +
                          (kernel.narrow_out != nullptr ? half_unit(type) : 0);
  for (std::int64_t d = 0; d < s.head_dim; ++d) {
    const float g = got[head * s.head_dim + d];
    const double allowed = relative * magnitude[d] + walk(1) * std::sqrt(variance[d]);
    if (!(std::abs(g - out[d]) <= allowed))
      return "out[" + std::to_string(b) + "][" + std::to_string(head % s.heads) + "][" +
             std::to_string(d) + "] is " + std::to_string(g) + ", the oracle says " +
             std::to_string(out[d]);
  }
  return {};
}

}  // namespace kernels::attention
