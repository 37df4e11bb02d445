// The attention oracle: one head in double, and how far from it fp32 and what a variant rounds
// beyond that may end.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/attention_cases.hpp"

namespace kernels::attention {

inline constexpr double kEps = 0x1p-24;  ///< half a unit in the last place of fp32
/// Rounding errors of n steps taken as a random walk, three deviations wide.
inline double walk(std::int64_t n) { return 3 * std::sqrt(static_cast<double>(n)); }

constexpr double square(double x) { return x * x; }
/// How much further than deviations() an output may be. Over all test cases and contexts of up to
/// 32768, vdpbf16ps reaches 2.9 and the int8 variants 2.3.
inline constexpr double kDeviations = 6;

template <class T>
constexpr bool kScaled = std::is_same_v<T, std::int8_t>;

/// Row of the pool that holds a token; the oracle's own, so that a fault of the kernels' shows.
template <class T>
std::int64_t row_of_token(const Args<T>& a, std::int64_t b, std::int64_t kv_head,
                          std::int64_t token) {
  std::int64_t page = b * a.sequence_pages + token / a.page_tokens;
  if (a.table != nullptr) page = a.table[page];
  return (page * a.kv_heads + kv_head) * a.page_tokens + token % a.page_tokens;
}

/// Tokens whose keys point along their queries: the first, the last, both sides of a page's edge.
inline bool is_mark(std::int64_t t, std::int64_t context) {
  return t == 0 || t == kPage - 1 || t == kPage || t == context - 1;
}

/// What a variant rounds beyond fp32 of its queries and weights.
struct Rounding {
  double query = 0, weight = 0;  ///< as a share of the largest
  double each = 0;               ///< of every one's own size
  bool any() const { return query > 0 || weight > 0 || each > 0; }
};
template <class T>
Rounding rounding_of(const Kernel& kernel) {
  if constexpr (kScaled<T>)
    return {.query = kernel.s8_rounding, .weight = kernel.s8_weight_rounding};
  else
    return {.each = std::is_same_v<T, bf16> ? kernel.bf16_rounding : 0};
}

/// How far rounded queries and weights put each output off, every one of them by as much as it
/// may be, with a random sign. A score's error moves the output by weight x (value - output). It
/// is the query's error along the key, so errors of different keys add up like steps of a random
/// walk, and those of the marks, whose keys are one, as they are. A rounded weight is off by
/// itself. With a common unit for a block of at most 64 tokens, all of these are off by as much
/// as the largest may be, whose weight is nowhere else the largest: the squares of the blocks'
/// largest add up to no more than those of all weights.
template <class T>
std::vector<double> deviations(const Args<T>& a, const Rounding& rounding, std::int64_t b,
                               std::int64_t kv_head, const std::vector<double>& p,
                               const std::vector<double>& score_deviation,
                               const std::vector<double>& out) {
  std::vector<double> squares(a.head_dim), of_marks(a.head_dim);
  double weight_squares = 0, integer_squares = 0, largest_unit = 0;
  for (std::int64_t t = 0; t < a.context; ++t) {
    const std::int64_t row = row_of_token(a, b, kv_head, t);
    const T* v = a.v + row * a.head_dim;
    const double unit = kScaled<T> ? a.v_scale[row] : 1.0f;
    const double by_score = p[t] * score_deviation[t], by_weight = p[t] * rounding.each;
    const bool mark = is_mark(t, a.context);
    for (std::int64_t d = 0; d < a.head_dim; ++d) {
      const auto integer = static_cast<double>(v[d]);
      const double value = unit * integer, moved = by_score * (value - out[d]);
      integer_squares += integer * integer;
      squares[d] += square(by_weight) * (square(value) + square(out[d]));
      if (mark)
        of_marks[d] += moved;
      else
        squares[d] += square(moved);
    }
    weight_squares += square(p[t]);
    largest_unit = std::max(largest_unit, unit);
  }
  const double of_integers =
      integer_squares / static_cast<double>(a.context * a.head_dim) * square(largest_unit);
  const double of_blocks = square(rounding.weight) * of_integers * weight_squares *
                           static_cast<double>(std::min<std::int64_t>(64, a.context));
  std::vector<double> all(a.head_dim);
  for (std::int64_t d = 0; d < a.head_dim; ++d)
    all[d] = std::sqrt(squares[d] + square(of_marks[d]) + of_blocks);
  return all;
}

/// Checks the output of one head, of `batch` times `heads`, in double. Empty when right, else what
/// differs.
template <class T>
std::string check_head(const Args<T>& a, const Rounding& rounding, std::int64_t head) {
  const std::int64_t b = head / a.heads, kv_head = head % a.heads / (a.heads / a.kv_heads);
  const float* q = a.q + head * a.head_dim;
  const double scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  std::vector<double> p(a.context), score_deviation(a.context);
  double q_max = 0, v_max = 0;
  for (std::int64_t d = 0; d < a.head_dim; ++d) q_max = std::max<double>(q_max, std::abs(q[d]));
  double max = -std::numeric_limits<double>::infinity(), score_error = 0;
  for (std::int64_t t = 0; t < a.context; ++t) {
    const std::int64_t row = row_of_token(a, b, kv_head, t);
    const T* k = a.k + row * a.head_dim;
    double dot = 0, magnitude = 0, squares = 0, term_squares = 0;
    for (std::int64_t d = 0; d < a.head_dim; ++d) {
      const double term = static_cast<double>(q[d]) * static_cast<double>(k[d]);
      dot += term;
      magnitude += std::abs(term);
      term_squares += term * term;
      squares += static_cast<double>(k[d]) * static_cast<double>(k[d]);
    }
    const double factor = kScaled<T> ? scale * a.k_scale[row] : scale;
    p[t] = dot * factor;
    max = std::max(max, p[t]);
    score_error = std::max(score_error, kEps * (walk(a.head_dim) + 4) * magnitude * factor);
    score_deviation[t] = factor * std::sqrt(square(rounding.query * q_max) * squares +
                                            square(rounding.each) * term_squares);
  }
  double sum = 0, lost = 0;
  for (double& x : p) sum += x = std::exp(x - max);
  // Beside one large weight, small ones are rounded as they are added, all of a size in the same
  // direction: no random walk. In fp32, 32k of them can lose a thousandth of the sum.
  for (const double x : p)
    if (x < 16 * kEps * sum) lost += std::min(x / sum, kEps);
  for (double& x : p) x /= sum;
  std::vector<double> out(a.head_dim), magnitude(a.head_dim);
  for (std::int64_t t = 0; t < a.context; ++t) {
    const std::int64_t row = row_of_token(a, b, kv_head, t);
    const T* v = a.v + row * a.head_dim;
    const double unit = kScaled<T> ? a.v_scale[row] : 1.0f;
    for (std::int64_t d = 0; d < a.head_dim; ++d) {
      const double value = unit * static_cast<double>(v[d]);
      out[d] += p[t] * value;
      magnitude[d] += p[t] * std::abs(value);
      v_max = std::max(v_max, std::abs(value));
    }
  }
  // A score's error moves its weight by as much, numerator and denominator alike; so does the
  // exponential's; and both sums run over the context.
  const double relative = 2 * (score_error + kExpError) + 2 * (walk(a.context) + 4) * kEps;
  const std::vector<double> deviation =
      rounding.any() ? deviations(a, rounding, b, kv_head, p, score_deviation, out)
                     : std::vector<double>(a.head_dim);
  for (std::int64_t d = 0; d < a.head_dim; ++d) {
    const float got = a.out[head * a.head_dim + d];
    const double allowed = relative * magnitude[d] + 2 * lost * v_max + kDeviations * deviation[d];
    if (std::abs(got - out[d]) <= allowed) continue;
    std::ostringstream text;
    text << "out[" << b << "][" << head % a.heads << "][" << d << "] is " << got
         << ", the oracle says " << out[d];
    return text.str();
  }
  return {};
}

}  // namespace kernels::attention
