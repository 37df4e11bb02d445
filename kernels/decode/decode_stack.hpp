// The stack in memory, and one step through it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/attention/attention.hpp"
#include "kernels/buffer.hpp"
#include "kernels/decode/decode.hpp"
#include "kernels/decode/decode_values.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::decode {

/// The registered kernels that a step calls, and what lies between them.
template <class W, class C>
struct Calls {
  const Glue* glue;
  const matmul::Kernel* matmul;
  const matmul::Routine<bf16, W, float>* product;
  void (*attend)(const attention::Args<C>&);
  bool packed() const { return product->run_packed != nullptr; }
  /// Whether the product of the MLP's first half applies its gates itself.
  bool gated(const Shape& s) const {
    return s.batch <= product->gated_rows && s.d_ff % matmul::kGated == 0;
  }
};

/// Weights are in the matmul's own order where it has one (pack:pre), as a server would keep them.
template <class W, class C>
class Stack {
 public:
  using Weight = W;
  using Cached = C;
  struct Weights {
    Buffer<W> plain;  ///< one of the two
    Buffer<std::byte> packed;
    Buffer<float> scales;
  };
  struct Cache {
    Buffer<C> k, v;  ///< [batch][kv_head][token][head_dim]
    Buffer<float> k_scale, v_scale;
  };
  struct Layer {
    std::array<Weights, kStages> weights;
    Cache cache;
  };

  Stack(const Shape& s, const Calls<W, C>& calls, const Caches& caches, int threads)
      : shape_(s), calls_(calls), threads_(threads), reading_(reading_of(caches)) {
    std::int64_t workspace = 0;
    for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown, kHead}) {
      matmul::Plan& plan = plans_[stage];
      plan = {.shape = product(s, stage), .threads = threads, .caches = caches};
      if (plan.shape.n > 0 && calls.product->workspace_bytes != nullptr)
        workspace = std::max(workspace, calls.product->workspace_bytes(plan));
    }
    workspace_ = zeros<std::byte>(workspace);
    for (matmul::Plan& plan : plans_) plan.workspace = workspace_.data();
    for (std::int64_t l = 0; l < s.layers; ++l) {
      Layer& layer = layers_.emplace_back();
      for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown})
        layer.weights[stage] = make_weights(l, stage);
      layer.cache = make_cache(l);
    }
    if (s.vocabulary > 0) head_ = make_weights(s.layers, kHead);

    const std::int64_t b = s.batch, queries = s.heads * s.head_dim;
    start_ = Buffer<float>(b * s.d_model, threads, [](std::int64_t i) { return start_value(i); });
    x = zeros<float>(b * s.d_model);
    normed = zeros<bf16>(b * s.d_model);
    qkv = zeros<float>(b * (queries + 2 * s.kv_heads * s.head_dim));
    q = zeros<float>(b * queries);
    attended = zeros<float>(b * queries);
    attended_bf16 = zeros<bf16>(b * queries);
    update = zeros<float>(b * s.d_model);
    if (!gates_itself()) up = zeros<float>(b * 2 * s.d_ff);
    gated = zeros<bf16>(b * s.d_ff);
    logits = zeros<float>(b * s.vocabulary);
    scratch_ = zeros<float>(attention::scratch_floats(attention_shape(), threads, false));
    shares_.resize(threads);
  }

  /// One step from the same residuals each time. Calls `done(stage, layer)` behind every stretch.
  template <class Done>
  void step(Done done) {
    const Shape& s = shape_;
    start_rows();
    for (std::int64_t l = 0; l < s.layers; ++l) {
      done(kGlue, l);
      multiply(kQkv, layers_[l].weights[kQkv], normed.data(), qkv.data());
      done(kQkv, l);
      store_new_token(layers_[l].cache);
      done(kGlue, l);
      calls_.attend(attention_args(l));
      done(kAttention, l);
      rows([&](std::int64_t b) {
        const std::int64_t n = s.heads * s.head_dim;
        calls_.glue->narrow(&attended[b * n], n, &attended_bf16[b * n]);
      });
      done(kGlue, l);
      multiply(kOut, layers_[l].weights[kOut], attended_bf16.data(), update.data());
      done(kOut, l);
      add_rows(true);
      done(kGlue, l);
      multiply_gated(layers_[l].weights[kMlpUp], [&] { done(kMlpUp, l); });
      done(kGlue, l);
      multiply(kMlpDown, layers_[l].weights[kMlpDown], gated.data(), update.data());
      done(kMlpDown, l);
      add_rows(l + 1 < s.layers || s.vocabulary > 0);
    }
    done(kGlue, s.layers - 1);
    if (s.vocabulary == 0) return;
    multiply(kHead, head_, normed.data(), logits.data());
    done(kHead, s.layers);
  }

  /// What a step reads, weights and cache, in its order.
  std::vector<stream::Region> memory() const {
    std::vector<stream::Region> out;
    const auto add = [&](const auto& buffer) { out.push_back(stream::region_of(buffer)); };
    const auto add_weights = [&](const Weights& w) { add(w.plain), add(w.packed); };
    for (const Layer& layer : layers_) {
      for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown}) add_weights(layer.weights[stage]);
      add(layer.cache.k), add(layer.cache.v);
    }
    add_weights(head_);
    return out;
  }

  /// Spoils all that a step writes before it reads it.
  void poison() {
    const auto spoil = [](auto& buffer, auto value) {
      std::fill_n(buffer.data(), buffer.size(), value);
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (Buffer<float>* buffer : {&x, &qkv, &q, &attended, &update, &up, &logits, &scratch_})
      spoil(*buffer, nan);
    for (Buffer<bf16>* buffer : {&normed, &attended_bf16, &gated}) spoil(*buffer, bf16(nan));
    for (Layer& layer : layers_) {
      for (std::int64_t row = 0; row < shape_.batch * shape_.kv_heads; ++row) {
        const std::int64_t at = row * shape_.context + shape_.context - 1;
        for (std::int64_t d = 0; d < shape_.head_dim; ++d)
          layer.cache.k[at * shape_.head_dim + d] = layer.cache.v[at * shape_.head_dim + d] =
              static_cast<C>(101);  // far from any value; int8 has no NaN
        if constexpr (kScaled) layer.cache.k_scale[at] = layer.cache.v_scale[at] = nan;
      }
    }
  }

  const Shape& shape() const { return shape_; }
  bool gates_itself() const { return calls_.gated(shape_); }
  const Cache& cache(std::int64_t layer) const { return layers_[layer].cache; }
  matmul::Tiles tiles(Stage stage) const {
    return calls_.product->tiles(plans_[stage], calls_.packed());
  }
  attention::Shape attention_shape() const {
    return {shape_.batch, shape_.context, shape_.heads, shape_.kv_heads, shape_.head_dim};
  }

  /// Attention of a layer on what is in `q`, into `attended`.
  attention::Args<C> attention_args(std::int64_t layer) {
    const Cache& cache = layers_[layer].cache;
    return {.batch = shape_.batch,
            .context = shape_.context,
            .heads = shape_.heads,
            .kv_heads = shape_.kv_heads,
            .head_dim = shape_.head_dim,
            .page_tokens = shape_.context,
            .sequence_pages = 1,
            .table = nullptr,
            .q = q.data(),
            .k = cache.k.data(),
            .v = cache.v.data(),
            .k_scale = cache.k_scale.data(),
            .v_scale = cache.v_scale.data(),
            .out = attended.data(),
            .chunk_tokens = attention::chunk_tokens(attention_shape(), threads_, false),
            .scratch = scratch_.data(),
            .shares = shares_.data(),
            .threads = threads_,
            .reading = reading_};
  }

  /// What the last stretch of each kind has left; [batch][…]. No `up` if gates_itself().
  Buffer<float> x, qkv, q, attended, update, up, logits;
  Buffer<bf16> normed, attended_bf16, gated;

 private:
  static constexpr bool kScaled = std::is_same_v<C, std::int8_t>;

  template <class T>
  Buffer<T> zeros(std::int64_t n) const {
    return Buffer<T>(n, threads_, [](std::int64_t) { return T{}; });
  }

  Weights make_weights(std::int64_t layer, Stage stage) const {
    const matmul::Plan& plan = plans_[stage];
    const std::int64_t depth = plan.shape.k, columns = plan.shape.n;
    const bool in_turns = stage == kMlpUp && gates_itself();
    const auto column = [=](std::int64_t n) { return in_turns ? in_turn(columns, n) : n; };
    Weights out;
    if constexpr (std::is_same_v<W, std::int8_t>)
      out.scales = Buffer<float>(columns, threads_, [=](std::int64_t n) {
        return weight_scale(layer, stage, depth, column(n));
      });
    out.plain = Buffer<W>(columns * depth, threads_, [=](std::int64_t i) {
      const std::int64_t n = i % columns;
      return weight<W>(layer, stage, depth, i - n + column(n));
    });
    if (calls_.packed()) {
      out.packed = zeros<std::byte>(calls_.product->packed_bytes(plan));
      calls_.product->pack(plan, out.plain.data(), out.scales.data(), out.packed.data());
      out.plain = {};
    }
    return out;
  }

  /// Which of a product's columns, gates and then up, is the n-th where blocks of them take turns.
  static std::int64_t in_turn(std::int64_t columns, std::int64_t n) {
    const std::int64_t block = n / matmul::kGated, in = n % matmul::kGated;
    return block % 2 * (columns / 2) + block / 2 * matmul::kGated + in;
  }

  Cache make_cache(std::int64_t layer) const {
    const std::int64_t tokens = shape_.batch * shape_.kv_heads * shape_.context;
    const auto values = [&](int what) {
      return Buffer<C>(tokens * shape_.head_dim, threads_,
                       [=](std::int64_t i) { return random_value<C>(seed(layer, what), i); });
    };
    Cache out{.k = values(kSeedK), .v = values(kSeedV)};
    if constexpr (kScaled) {
      const auto scales = [&](int what) {
        return Buffer<float>(tokens, threads_,
                             [=](std::int64_t i) { return cache_scale(layer, what, i); });
      };
      out.k_scale = scales(kSeedK);
      out.v_scale = scales(kSeedV);
    }
    return out;
  }

  template <class F>
  void rows(F f) const {
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t b = 0; b < shape_.batch; ++b) f(b);
  }
  void start_rows() {
    const std::int64_t d = shape_.d_model;
    rows([&](std::int64_t b) {
      std::copy_n(&start_[b * d], d, &x[b * d]);
      calls_.glue->normalise(&x[b * d], d, &normed[b * d]);
    });
  }
  /// Adds the update to the residuals and, where something follows, normalises them while they are
  /// in L1.
  void add_rows(bool then_normalise) {
    const std::int64_t d = shape_.d_model;
    rows([&](std::int64_t b) {
      calls_.glue->add(&x[b * d], &update[b * d], d);
      if (then_normalise) calls_.glue->normalise(&x[b * d], d, &normed[b * d]);
    });
  }
  /// In pieces: of one row a thread would work alone on exponentials of 10 us.
  void gate_rows() {
    constexpr std::int64_t kPiece = 1024;
    const std::int64_t f = shape_.d_ff, pieces = (f + kPiece - 1) / kPiece;
#pragma omp parallel for num_threads(threads_)
    for (std::int64_t i = 0; i < shape_.batch * pieces; ++i) {
      const std::int64_t b = i / pieces, at = i % pieces * kPiece;
      const float* row = &up[b * 2 * f];
      calls_.glue->gate(row + at, row + f + at, std::min(kPiece, f - at), &gated[b * f + at]);
    }
  }

  /// The MLP's first half; `multiplied()` is called before what is left to do of the gates.
  template <class Multiplied>
  void multiply_gated(const Weights& weights, Multiplied multiplied) {
    if (gates_itself()) {
      calls_.product->run_gated(plans_[kMlpUp], normed.data(), weights.packed.data(),
                                weights.scales.data(), gated.data());
      multiplied();
    } else {
      multiply(kMlpUp, weights, normed.data(), up.data());
      multiplied();
      gate_rows();
    }
  }
  void multiply(Stage stage, const Weights& weights, const bf16* in, float* out) const {
    const matmul::Plan& plan = plans_[stage];
    const float* scales = weights.scales.data();
    if (calls_.packed())
      calls_.product->run_packed(plan, in, weights.packed.data(), scales, out);
    else
      calls_.product->run(plan, in, weights.plain.data(), scales, out);
  }

  void store_new_token(Cache& cache) {
    const std::int64_t h = shape_.head_dim, queries = shape_.heads * h, n = shape_.kv_heads;
    rows([&](std::int64_t b) {
      const float* row = &qkv[b * (queries + 2 * n * h)];
      std::copy_n(row, queries, &q[b * queries]);
      for (std::int64_t head = 0; head < n; ++head) {
        const std::int64_t at = (b * n + head + 1) * shape_.context - 1;
        const auto scale = [&](Buffer<float>& scales) { return kScaled ? &scales[at] : nullptr; };
        store(row + queries + head * h, &cache.k[at * h], scale(cache.k_scale));
        store(row + queries + (n + head) * h, &cache.v[at * h], scale(cache.v_scale));
      }
    });
  }
  /// A row of K or V on its way into the cache; `scale` is that of an int8 row, else not used.
  void store(const float* row, C* out, [[maybe_unused]] float* scale) const {
    if constexpr (kScaled)
      calls_.glue->store_s8(row, shape_.head_dim, out, scale);
    else
      calls_.glue->narrow(row, shape_.head_dim, out);
  }

  Shape shape_;
  Calls<W, C> calls_;
  int threads_;
  Reading reading_;
  std::array<matmul::Plan, kStages> plans_;
  Buffer<std::byte> workspace_;
  std::vector<Layer> layers_;
  Weights head_;
  Buffer<float> start_, scratch_;
  std::vector<Share> shares_;
};

}  // namespace kernels::decode
