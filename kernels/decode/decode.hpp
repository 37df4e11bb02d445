// decode: one decode step of a LLaMA-3-shaped stack, one new token for each sequence, made of this
// suite's own matmul and attention kernels. x are the residuals, T includes the new token.
//   each layer:  q, k, v = norm(x) . Wqkv;  k, v -> cache;  x += attention(q, cache) . Wout
//                gate, up = norm(x) . Wup;  x += (silu(gate) * up) . Wdown
//   with a head: logits = norm(x) . Whead
// Included is RMSNorm, its gain taken as folded into the weights behind it. Left out are the rotary
// embedding, the look-up of the input embedding, and sampling. Activations are bf16 into every
// matmul and fp32 out of it; int8 weights have one fp32 scale an output column, an int8 cache one
// for each token and kv head.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/dtype.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/op.hpp"

namespace kernels::decode {

inline constexpr float kNormEpsilon = 1e-5f;  ///< added to the mean square

struct Shape {
  std::int64_t batch, context, layers;
  std::int64_t d_model = 4096, d_ff = 14336, heads = 32, kv_heads = 8, head_dim = 128;
  std::int64_t vocabulary = 0;  ///< columns of the output head; 0: no head
};

/// Bytes of an element and of its scale (0: none).
struct ElementBytes {
  int weight, weight_scale, kv, kv_scale;
};

/// What lies between the kernels, on rows of `n` values (decode_glue.hpp).
struct Glue {
  const char* exec_unit;
  /// out = x / rms(x), without a gain.
  void (*normalise)(const float* x, std::int64_t n, bf16* out);
  void (*add)(float* x, const float* more, std::int64_t n);
  void (*narrow)(const float* x, std::int64_t n, bf16* out);
  /// out = silu(gates) * up.
  void (*gate)(const float* gates, const float* up, std::int64_t n, bf16* out);
  /// A row of K or V on its way into an int8 cache; the largest magnitude becomes 127 of its scale.
  void (*store_s8)(const float* row, std::int64_t n, std::int8_t* out, float* scale);
};

/// One variant: registered kernels by name, and what lies between them.
struct Kernel {
  const char* exec_unit;
  /// On weights packed before (pack:pre) where it has that; the first that this CPU can run and
  /// that does the step's products.
  std::array<const char*, 2> matmul;
  const char* attention_bf16;
  /// The first that this CPU can run.
  std::array<const char*, 2> attention_s8;
  Glue glue;
  double max_flops = 0;  ///< largest step that is offered for it, FLOP; 0: any
};

/// What a step consists of, each summed over the layers. Glue is what lies between the kernels:
/// norms, residuals, silu, conversions, the new K and V on their way into the cache.
enum Stage { kQkv, kAttention, kOut, kMlpUp, kMlpDown, kHead, kGlue, kStages };
inline constexpr std::array kStageNames = {"qkv",      "attention", "out", "mlp_up",
                                           "mlp_down", "head",      "glue"};
static_assert(kStageNames.size() == kStages);

/// The product of one layer's stage; for kAttention and kGlue all zero.
constexpr matmul::Shape product(const Shape& s, Stage stage) {
  const std::int64_t queries = s.heads * s.head_dim, cached = s.kv_heads * s.head_dim;
  switch (stage) {
    case kQkv:
      return {s.batch, queries + 2 * cached, s.d_model};
    case kOut:
      return {s.batch, s.d_model, queries};
    case kMlpUp:  // gate and up side by side
      return {s.batch, 2 * s.d_ff, s.d_model};
    case kMlpDown:
      return {s.batch, s.d_model, s.d_ff};
    case kHead:
      return {s.batch, s.vocabulary, s.d_model};
    default:
      return {0, 0, 0};
  }
}

/// How often a stage runs in a step.
constexpr std::int64_t times(const Shape& s, Stage stage) { return stage == kHead ? 1 : s.layers; }

/// silu(gate) * up, part of the glue unless the product before does it: exponential, add, divide,
/// multiply; two fp32 in, bf16 out.
constexpr Cost gating(const Shape& s) {
  const double values = static_cast<double>(s.batch * s.layers * s.d_ff);
  return {4 * values, 10 * values};
}

/// A stage's work in one step. Matmuls: 2MNK; the bytes are the weights and their scales, as
/// activations stay in cache. Attention: 4 b N T H, softmax not counted; the bytes are the cache
/// and its scales, by kv heads. Glue: an operation each for a multiply, add, divide or exponential;
/// its bytes are its own operands, none of which need come from main memory.
constexpr Cost cost(const Shape& s, Stage stage, const ElementBytes& e) {
  const double b = static_cast<double>(s.batch), d = static_cast<double>(s.d_model),
               l = static_cast<double>(s.layers);
  const double queries = static_cast<double>(s.heads * s.head_dim),
               cached = static_cast<double>(2 * s.kv_heads * s.head_dim);
  if (stage == kAttention) {
    const double rows = 2.0 * static_cast<double>(s.batch * s.context * s.kv_heads);
    return {4 * l * b * static_cast<double>(s.context) * queries,
            l * rows * (static_cast<double>(s.head_dim) * e.kv + e.kv_scale)};
  }
  if (stage == kGlue) {
    // Norm: square, add, multiply; fp32 in, bf16 out. Twice a layer, once before the head.
    const double norms = 2 * l + (s.vocabulary > 0 ? 1 : 0);
    // Residual: add; two fp32 in, one out.
    // New K and V: two for int8 (largest magnitude, scaling), none for bf16.
    const double cache_flops = e.kv_scale > 0 ? 2 * cached : 0;
    const Cost gate = gating(s);
    return {
        b * (norms * 3 * d + l * (2 * d + cache_flops)) + gate.flops,
        b * (norms * 6 * d + l * (24 * d + queries * (8 + 6) + cached * (4 + e.kv))) + gate.bytes};
  }
  const matmul::Shape m = product(s, stage);
  const double weights = static_cast<double>(m.n * m.k), columns = static_cast<double>(m.n);
  const double n = static_cast<double>(times(s, stage));
  return {2 * n * b * weights, n * (weights * e.weight + columns * e.weight_scale)};
}

/// The whole step: all FLOP; of the bytes those that main memory has to deliver, which is all but
/// the glue's.
constexpr Cost cost(const Shape& s, const ElementBytes& e) {
  Cost sum;
  for (int stage = 0; stage < kStages; ++stage) {
    const Cost part = cost(s, static_cast<Stage>(stage), e);
    sum.flops += part.flops;
    if (stage != kGlue) sum.bytes += part.bytes;
  }
  return sum;
}

}  // namespace kernels::decode
