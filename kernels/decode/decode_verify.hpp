// The oracle of a decode step, in double: every kernel on the inputs that it got, and the whole
// step from its start.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/decode/decode_values.hpp"

namespace kernels::decode {

/// Below this many multiply-adds the whole step is checked besides each kernel.
inline constexpr double kWholeOracle = 2e7;

using Doubles = std::vector<double>;

inline double rounded(double value) { return static_cast<double>(bf16(static_cast<float>(value))); }

template <class W>
double weight_value(std::int64_t layer, Stage stage, const matmul::Shape& m, std::int64_t k,
                    std::int64_t n) {
  const auto value = static_cast<double>(weight<W>(layer, stage, m.k, k * m.n + n));
  return std::is_same_v<W, std::int8_t> ? value * weight_scale(layer, stage, m.k, n) : value;
}

/// Indices to look at: all while there are no more than `most`, else the first, the last and
/// others at random.
inline std::vector<std::int64_t> sample(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> out(std::min(n, most));
  std::iota(out.begin(), out.end(), 0);
  if (n <= most) return out;
  for (std::int64_t i = 1; i < most; ++i) out[i] = static_cast<std::int64_t>(hash(11, i) % n);
  out.back() = n - 1;
  return out;
}

inline std::string difference(Stage stage, std::int64_t layer, std::int64_t b, std::int64_t i,
                              double got, double expected) {
  return std::string(kStageNames[stage]) + " of layer " + std::to_string(layer) + ": [" +
         std::to_string(b) + "][" + std::to_string(i) + "] is " + std::to_string(got) +
         ", the oracle says " + std::to_string(expected);
}

struct Expected {
  double value, error;  ///< what is right, and how far from it a kernel may be
};

/// One column of a product in these rows: sums in double of the values that the kernel was given.
/// Rounding in fp32 walks randomly over K steps; three deviations and some are allowed, which is
/// less than the mean product. So does what the kernel rounds of its inputs, by up to `rounding` of
/// a row's largest.
template <class W>
std::vector<Expected> column_sums(const Shape& s, Stage stage, std::int64_t layer, const bf16* in,
                                  const std::vector<std::int64_t>& rows, std::int64_t column,
                                  double rounding) {
  const matmul::Shape m = product(s, stage);
  Doubles sums(rows.size()), magnitudes(rows.size()), largest(rows.size());
  double squares = 0;
  for (std::int64_t k = 0; k < m.k; ++k) {
    const double w = weight_value<W>(layer, stage, m, k, column);
    squares += w * w;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto x = static_cast<double>(in[rows[r] * m.k + k]);
      sums[r] += x * w;
      magnitudes[r] += std::abs(x * w);
      largest[r] = std::max(largest[r], std::abs(x));
    }
  }
  const double share = 0x1p-24 * (3 * std::sqrt(static_cast<double>(m.k)) + 4);
  std::vector<Expected> out;
  for (std::size_t r = 0; r < rows.size(); ++r)
    out.push_back(
        {sums[r], share * magnitudes[r] + 3 * rounding * largest[r] * std::sqrt(squares)});
  return out;
}

/// Checks the output of a stage, [batch][columns], where there are many at samples: `expect(rows,
/// column)` gives what is Expected in these rows. Empty when right.
template <class T, class Expect>
std::string check_columns(const Shape& s, Stage stage, std::int64_t layer, const T* out,
                          std::int64_t columns, int threads, Expect expect) {
  const auto rows = sample(s.batch, 4), sampled = sample(columns, 128);
  std::string wrong;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t c = 0; c < sampled.size(); ++c) {
    const std::vector<Expected> right = expect(rows, sampled[c]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto got = static_cast<double>(out[rows[r] * columns + sampled[c]]);
      if (std::abs(got - right[r].value) <= right[r].error) continue;
#pragma omp critical(decode_oracle)
      wrong = difference(stage, layer, rows[r], sampled[c], got, right[r].value);
    }
  }
  return wrong;
}

/// Checks one product. Empty when right.
template <class W>
std::string check_product(const Shape& s, Stage stage, std::int64_t layer, const bf16* in,
                          const float* out, double rounding, int threads) {
  return check_columns(s, stage, layer, out, product(s, stage).n, threads,
                       [&](const std::vector<std::int64_t>& rows, std::int64_t column) {
                         return column_sums<W>(s, stage, layer, in, rows, column, rounding);
                       });
}

/// Checks silu(gate) * up where the product makes it, in bf16. The slope of silu is at most 1.1.
template <class W>
std::string check_gated(const Shape& s, std::int64_t layer, const bf16* in, const bf16* out,
                        double rounding, int threads) {
  const auto expect = [&](const std::vector<std::int64_t>& rows, std::int64_t column) {
    const auto gates = column_sums<W>(s, kMlpUp, layer, in, rows, column, rounding);
    auto right = column_sums<W>(s, kMlpUp, layer, in, rows, s.d_ff + column, rounding);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto [gate, gate_error] = gates[r];
      const auto [up, up_error] = right[r];
      const double silu = gate / (1 + std::exp(-gate));
      right[r] = {silu * up, 1.1 * gate_error * std::abs(up) + std::abs(silu) * up_error +
                                 0x1.01p-8 * std::abs(silu * up)};
    }
    return right;
  };
  return check_columns(s, kMlpUp, layer, out, s.d_ff, threads, expect);
}

/// Softmax-weighted values of one query over one head's tokens; `key` and `value` give (token,
/// dimension) in double.
template <class Key, class Value>
Doubles attend(const Doubles& query, std::int64_t context, Key key, Value value) {
  const auto dim = static_cast<std::int64_t>(query.size());
  Doubles weights(context), out(dim);
  for (std::int64_t t = 0; t < context; ++t) {
    for (std::int64_t d = 0; d < dim; ++d) weights[t] += query[d] * key(t, d);
    weights[t] /= std::sqrt(static_cast<double>(dim));
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& w : weights) sum += w = std::exp(w - most);
  for (std::int64_t t = 0; t < context; ++t)
    for (std::int64_t d = 0; d < dim; ++d) out[d] += weights[t] / sum * value(t, d);
  return out;
}

/// The heads of all sequences, `b` * heads + head, that check_attention() looks at.
inline std::vector<std::int64_t> checked_heads(const Shape& s) {
  return sample(s.batch * s.heads, 16);
}

/// Row of the cache with the first token of the kv head that serves a head.
inline std::int64_t first_row(const Shape& s, std::int64_t head) {
  const std::int64_t kv = head % s.heads / (s.heads / s.kv_heads);
  return (head / s.heads * s.kv_heads + kv) * s.context;
}

/// Checks the attention of one layer on the queries and the cache that the kernel was given.
/// `tokens` are, for each of the checked_heads(), `k`, `v` [token][head_dim] and, of an int8 cache,
/// `k_scale`, `v_scale` of its kv head. |values| are at most 1.5 apart from the new token's, so
/// that an absolute tolerance serves.
template <class C, class Tokens>
std::string check_attention(const Shape& s, std::int64_t layer, const float* q, const float* out,
                            const std::vector<Tokens>& tokens, double tolerance, int threads) {
  const auto heads = checked_heads(s);
  const std::int64_t h = s.head_dim;
  std::string wrong;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const auto of = [&](const auto& values, const auto& scales) {
      return [&](std::int64_t t, std::int64_t d) {
        const auto value = static_cast<double>(values[t * h + d]);
        if constexpr (std::is_same_v<C, std::int8_t>)
          return value * scales[t];
        else
          return value;
      };
    };
    const float* query = q + heads[i] * h;
    const Doubles expected =
        attend({query, query + h}, s.context, of(tokens[i].k, tokens[i].k_scale),
               of(tokens[i].v, tokens[i].v_scale));
    for (std::int64_t d = 0; d < h; ++d) {
      const double got = out[heads[i] * h + d];
      if (std::abs(got - expected[d]) <= tolerance) continue;
#pragma omp critical(decode_oracle)
      wrong = difference(kAttention, layer, heads[i] / s.heads, heads[i] % s.heads * h + d, got,
                         expected[d]);
    }
  }
  return wrong;
}

/// The whole step of one sequence: its residuals and logits. It rounds where the step stores bf16
/// or int8, and is exact elsewhere. Of `Stack` it takes the shape and the caches.
template <class Stack>
class Reference {
 public:
  using W = typename Stack::Weight;
  using C = typename Stack::Cached;
  Reference(const Stack& stack, std::int64_t b) : stack_(stack), s_(stack.shape()), b_(b) {
    for (std::int64_t i = 0; i < s_.d_model; ++i) x.push_back(start_value(b * s_.d_model + i));
    for (std::int64_t l = 0; l < s_.layers; ++l) {
      add(multiply(kOut, l, attention(l, multiply(kQkv, l, norm()))));
      const Doubles both = multiply(kMlpUp, l, norm());
      Doubles gated(s_.d_ff);
      for (std::int64_t f = 0; f < s_.d_ff; ++f)
        gated[f] = rounded(both[f] / (1 + std::exp(-both[f])) * both[s_.d_ff + f]);
      add(multiply(kMlpDown, l, gated));
    }
    if (s_.vocabulary > 0) logits = multiply(kHead, s_.layers, norm());
  }
  Doubles x, logits;

 private:
  Doubles norm() const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(x.size()) + kNormEpsilon);
    Doubles out;
    for (const double value : x) out.push_back(rounded(value / rms));
    return out;
  }
  void add(const Doubles& more) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += more[i];
  }
  Doubles multiply(Stage stage, std::int64_t layer, const Doubles& in) const {
    const matmul::Shape m = product(s_, stage);
    Doubles out(m.n);
    for (std::int64_t n = 0; n < m.n; ++n)
      for (std::int64_t k = 0; k < m.k; ++k)
        out[n] += in[k] * weight_value<W>(layer, stage, m, k, n);
    return out;
  }
  /// Element `i` of a row of n values as the cache keeps it.
  static double stored(const double* row, std::int64_t n, std::int64_t i) {
    if constexpr (std::is_same_v<C, bf16>) return rounded(row[i]);
    double most = 0;
    for (std::int64_t j = 0; j < n; ++j) most = std::max(most, std::abs(row[j]));
    return std::nearbyint(row[i] / most * 127) * most / 127;
  }
  Doubles attention(std::int64_t layer, const Doubles& qkv) const {
    const auto& cache = stack_.cache(layer);
    const std::int64_t h = s_.head_dim, group = s_.heads / s_.kv_heads;
    Doubles out;
    for (std::int64_t head = 0; head < s_.heads; ++head) {
      const std::int64_t kv = head / group, first = (b_ * s_.kv_heads + kv) * s_.context;
      const auto of = [&, first, kv](const auto& values, const auto& scales, std::int64_t skipped) {
        const double* fresh = qkv.data() + (s_.heads + skipped + kv) * h;
        return [&, first, fresh](std::int64_t t, std::int64_t d) {
          if (t == s_.context - 1) return stored(fresh, h, d);
          const auto value = static_cast<double>(values[(first + t) * h + d]);
          return scales.size() > 0 ? value * scales[first + t] : value;
        };
      };
      const Doubles query(qkv.begin() + head * h, qkv.begin() + (head + 1) * h);
      for (const double value : attend(query, s_.context, of(cache.k, cache.k_scale, 0),
                                       of(cache.v, cache.v_scale, s_.kv_heads)))
        out.push_back(rounded(value));
    }
    return out;
  }

  const Stack& stack_;
  const Shape& s_;
  std::int64_t b_;
};

/// Compares the end of a step with the reference. A value at the edge between two bf16 or int8
/// numbers may be rounded the other way, which moves what follows by up to 2^-8 of one of its
/// terms: some hundredths in all, where a wrong index or a part left out moves it by about 1.
template <class Stack>
std::string check_step(const Stack& stack) {
  const Shape& s = stack.shape();
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const Reference<Stack> expected(stack, b);
    const auto check = [&](const char* what, const auto& got, const Doubles& right) {
      const auto n = static_cast<std::int64_t>(right.size());
      for (std::int64_t i = 0; i < n; ++i)
        if (!(std::abs(got[b * n + i] - right[i]) <= 0.05))
          return std::string(what) + " [" + std::to_string(b) + "][" + std::to_string(i) + "] is " +
                 std::to_string(got[b * n + i]) + ", the oracle says " + std::to_string(right[i]);
      return std::string();
    };
    std::string wrong = check("residual", stack.x, expected.x);
    if (wrong.empty()) wrong = check("logit", stack.logits, expected.logits);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

/// Checks what a stage of a step has just left in the stack's buffers, on what it got from them.
/// `product(in, out)` and `attended()` return what is wrong, or nothing.
template <class Stack, class Product, class Attended>
std::string check_stage(const Stack& stack, Stage stage, Product product, Attended attended) {
  switch (stage) {
    case kQkv:
      return product(stack.normed, stack.qkv);
    case kAttention:
      return attended();
    case kOut:
      return product(stack.attended_bf16, stack.update);
    case kMlpUp:
      return product(stack.normed, stack.up);
    case kMlpDown:
      return product(stack.gated, stack.update);
    case kHead:
      return product(stack.normed, stack.logits);
    default:
      return {};
  }
}

}  // namespace kernels::decode
