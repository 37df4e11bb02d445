// The stack in a GPU's memory, and one step through it.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/attention/attention_gpu_pieces.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/decode/decode_cases.hpp"
#include "kernels/decode/decode_gpu.hpp"
#include "kernels/decode/decode_values.hpp"
#include "kernels/matmul/matmul_gpu.hpp"

namespace kernels::decode {

using cuda::Memory;
using cuda::Type;
using cuda::Values;

template <class T>
constexpr Type kType = kScaled<T> ? Type::s8 : Type::bf16;

/// The registered kernels that a step calls, and what lies between them.
struct GpuCalls {
  const matmul::GpuKernel& product;
  const attention::GpuKernel& attend;
  const GpuGlue& glue;
};

/// `n` elements of device memory.
template <class T>
std::vector<T> download(const void* p, std::int64_t n) {
  std::vector<T> host(n);
  CUDA_CHECK(cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

/// value(0) … value(n - 1) in device memory.
template <class F>
Memory upload(std::int64_t n, F value) {
  std::vector<float> host(n);
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) host[i] = value(i);
  Memory memory = cuda::allocate(n * sizeof(float));
  CUDA_CHECK(cudaMemcpy(memory.get(), host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  return memory;
}

template <class W, class C>
class GpuStack {
 public:
  using Weight = W;
  using Cached = C;
  /// Rows of a cache on the host.
  struct HostCache {
    std::vector<C> k, v;
    std::vector<float> k_scale, v_scale;
  };

  /// `sms` of the chip: how finely attention is cut.
  GpuStack(const Shape& s, const GpuCalls& calls, int sms) : shape_(s), calls_(calls) {
    for (std::int64_t l = 0; l < s.layers; ++l) {
      Layer& layer = layers_.emplace_back();
      for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown})
        layer.weights[stage] = make_weights(l, stage);
      layer.cache = make_cache(l);
    }
    if (s.vocabulary > 0) head_ = make_weights(s.layers, kHead);

    const std::int64_t b = s.batch, queries = s.heads * s.head_dim;
    start_ = upload(b * s.d_model, start_value);
    x = floats(b * s.d_model);
    qkv = floats(b * product(s, kQkv).n);
    q = floats(b * queries);
    attended = floats(b * queries);
    update = floats(b * s.d_model);
    up = floats(b * 2 * s.d_ff);
    logits = floats(b * s.vocabulary);
    normed = cuda::allocate(b * s.d_model * sizeof(bf16));
    attended_bf16 = cuda::allocate(b * queries * sizeof(bf16));
    gated = cuda::allocate(b * s.d_ff * sizeof(bf16));
    pieces_ = attention::pieces_of(calls_.attend, attention_shape(), sizeof(C), sms);
    partial_sums_ = floats(partials() * s.head_dim);
    partial_stats_ = floats(partials() * 2);

    if (calls_.product.open == nullptr) return;
    for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown, kHead})
      if (product(s, stage).n > 0)  // of all layers: holds no addresses of operands
        states_[stage] = calls_.product.open(arguments(stage, {}, nullptr, nullptr),
                                             {Type::bf16, kType<W>, Type::f32});
  }

  /// One step from the same residuals each time; returns its launches. Calls `done(stage, layer)`
  /// behind every stretch.
  template <class Done>
  std::int64_t step(cudaStream_t stream, Done done) {
    const Shape& s = shape_;
    const GpuGlue& glue = calls_.glue;
    std::int64_t launches = 0;
    const auto multiply = [&](Stage stage, std::int64_t layer, const Weights& weights,
                              const Memory& in, const Memory& out) {
      const auto launch = kScaled<W> ? calls_.product.bf16xs8 : calls_.product.bf16;
      launch(arguments(stage, weights, in.get(), out.get()), stream);
      ++launches;
      done(stage, layer);
    };
    const auto add_normalise = [&](const float* update, bool normalise) {
      glue.add_normalise(cuda::as<float>(x), update, s.batch, s.d_model,
                         normalise ? cuda::as<bf16>(normed) : nullptr, stream);
      ++launches;
    };

    CUDA_CHECK(cudaMemcpyAsync(x.get(), start_.get(), s.batch * s.d_model * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream));
    ++launches;
    add_normalise(nullptr, true);
    for (std::int64_t l = 0; l < s.layers; ++l) {
      const Layer& layer = layers_[l];
      done(kGlue, l);
      multiply(kQkv, l, layer.weights[kQkv], normed, qkv);
      (kScaled<C> ? glue.store_s8 : glue.store_bf16)(new_token(layer.cache), stream);
      ++launches;
      done(kGlue, l);
      launches += attend(layer.cache, stream);
      done(kAttention, l);
      glue.narrow(cuda::as<float>(attended), s.batch * s.heads * s.head_dim,
                  cuda::as<bf16>(attended_bf16), stream);
      ++launches;
      done(kGlue, l);
      multiply(kOut, l, layer.weights[kOut], attended_bf16, update);
      add_normalise(cuda::as<float>(update), true);
      done(kGlue, l);
      multiply(kMlpUp, l, layer.weights[kMlpUp], normed, up);
      glue.gate(cuda::as<float>(up), s.batch, s.d_ff, cuda::as<bf16>(gated), stream);
      ++launches;
      done(kGlue, l);
      multiply(kMlpDown, l, layer.weights[kMlpDown], gated, update);
      add_normalise(cuda::as<float>(update), l + 1 < s.layers || s.vocabulary > 0);
    }
    done(kGlue, s.layers - 1);
    if (s.vocabulary > 0) multiply(kHead, s.layers, head_, normed, logits);
    return launches;
  }

  /// Spoils all that a step writes before it reads it.
  void poison() {
    const Shape& s = shape_;
    const std::int64_t b = s.batch, queries = s.heads * s.head_dim;
    for (const auto& [memory, n] : {std::pair{&x, s.d_model},
                                    {&qkv, product(s, kQkv).n},
                                    {&q, queries},
                                    {&attended, queries},
                                    {&update, s.d_model},
                                    {&up, 2 * s.d_ff},
                                    {&logits, s.vocabulary}})
      cuda::poison(memory->get(), b * n * sizeof(float));
    for (const auto& [memory, n] :
         {std::pair{&normed, s.d_model}, {&attended_bf16, queries}, {&gated, s.d_ff}})
      cuda::poison(memory->get(), b * n * sizeof(bf16));
    cuda::poison(partial_sums_.get(), partials() * s.head_dim * sizeof(float));
    cuda::poison(partial_stats_.get(), partials() * sizeof(float2));
    for (const Layer& layer : layers_)
      for (std::int64_t i = 1; i <= b * s.kv_heads; ++i) {
        const std::int64_t row = i * s.context - 1;
        for (const Memory* values : {&layer.cache.k, &layer.cache.v})
          cuda::poison(cuda::as<C>(*values) + row * s.head_dim, s.head_dim * sizeof(C));
        if constexpr (kScaled<C>)
          for (const Memory* scales : {&layer.cache.k_scale, &layer.cache.v_scale})
            cuda::poison(cuda::as<float>(*scales) + row, sizeof(float));
      }
  }

  const Shape& shape() const { return shape_; }
  const void* product_state(Stage stage) const { return states_[stage].get(); }
  attention::Shape attention_shape() const {
    return {shape_.batch, shape_.context, shape_.heads, shape_.kv_heads, shape_.head_dim};
  }
  /// A row of `n` for each sequence.
  template <class T>
  std::vector<T> copy(const Memory& memory, std::int64_t n) const {
    return download<T>(memory.get(), shape_.batch * n);
  }

  /// Rows of one layer's cache.
  HostCache cache(std::int64_t layer, std::int64_t first, std::int64_t rows) const {
    const Cache& from = layers_[layer].cache;
    const std::int64_t h = shape_.head_dim;
    const auto values = [&](const Memory& memory) {
      return download<C>(cuda::as<C>(memory) + first * h, rows * h);
    };
    const auto scales = [&](const Memory& memory) {
      return kScaled<C> ? download<float>(cuda::as<float>(memory) + first, rows)
                        : std::vector<float>();
    };
    return {values(from.k), values(from.v), scales(from.k_scale), scales(from.v_scale)};
  }

  /// What the last stretch of each kind has left; [batch][…].
  Memory x, qkv, q, attended, update, up, logits;
  Memory normed, attended_bf16, gated;

 private:
  struct Weights {
    Memory values, scales;
  };
  struct Cache {
    Memory k, v, k_scale, v_scale;
  };
  struct Layer {
    std::array<Weights, kStages> weights;
    Cache cache;
  };

  static Memory floats(std::int64_t n) { return cuda::allocate(n * sizeof(float)); }

  std::int64_t partials() const {
    return attention::partials(static_cast<int>(shape_.batch), static_cast<int>(shape_.heads),
                               pieces_.chunks);
  }
  std::int64_t cache_rows() const { return shape_.batch * shape_.kv_heads * shape_.context; }

  Weights make_weights(std::int64_t layer, Stage stage) const {
    const matmul::Shape m = product(shape_, stage);
    Weights out{cuda::allocate(m.n * m.k * sizeof(W)), {}};
    if constexpr (kScaled<W>) {
      cuda::fill(Type::s8, out.values.get(), {m.n, m.k, m.k, true}, seed(layer, stage),
                 Values::random);
      out.scales =
          upload(m.n, [=](std::int64_t column) { return weight_scale(layer, stage, m.k, column); });
    } else {
      cuda::fill_scaled(static_cast<bf16*>(out.values.get()), m.n * m.k, seed(layer, stage),
                        weight_amplitude(m.k));
    }
    return out;
  }

  Cache make_cache(std::int64_t layer) const {
    const std::int64_t n = cache_rows() * shape_.head_dim;
    const auto values = [&](int what) {
      Memory memory = cuda::allocate(n * sizeof(C));
      cuda::fill(kType<C>, memory.get(), {1, n, n}, seed(layer, what), Values::random);
      return memory;
    };
    const auto scales = [&](int what) {
      return kScaled<C> ? upload(cache_rows(),
                                 [=](std::int64_t row) { return cache_scale(layer, what, row); })
                        : Memory();
    };
    return {values(kSeedK), values(kSeedV), scales(kSeedK), scales(kSeedV)};
  }

  matmul::GpuArguments arguments(Stage stage, const Weights& weights, const void* in,
                                 void* out) const {
    const matmul::Shape m = product(shape_, stage);
    return {.x = in,
            .y = weights.values.get(),
            .scales = cuda::as<const float>(weights.scales),
            .z = out,
            .m = m.m,
            .n = m.n,
            .k = m.k,
            .batch = 1,
            .x_pitch = m.k,
            .y_pitch = kScaled<W> ? m.k : m.n,
            .z_pitch = m.n,
            .x_stride = m.m * m.k,
            .y_stride = m.k * m.n,
            .z_stride = m.m * m.n,
            .y_transposed = kScaled<W>,
            .state = states_[stage].get()};
  }

  NewToken new_token(const Cache& cache) const {
    return {.qkv = cuda::as<float>(qkv),
            .q = cuda::as<float>(q),
            .k = cache.k.get(),
            .v = cache.v.get(),
            .k_scale = cuda::as<float>(cache.k_scale),
            .v_scale = cuda::as<float>(cache.v_scale),
            .batch = static_cast<int>(shape_.batch),
            .context = static_cast<int>(shape_.context),
            .heads = static_cast<int>(shape_.heads),
            .kv_heads = static_cast<int>(shape_.kv_heads),
            .head_dim = static_cast<int>(shape_.head_dim)};
  }

  int attend(const Cache& cache, cudaStream_t stream) const {
    const attention::GpuLaunches& launches = kScaled<C> ? calls_.attend.s8 : calls_.attend.bf16;
    const auto launch = shape_.head_dim == 64 ? launches.dim_64 : launches.dim_128;
    return launch({.batch = static_cast<int>(shape_.batch),
                   .context = static_cast<int>(shape_.context),
                   .heads = static_cast<int>(shape_.heads),
                   .kv_heads = static_cast<int>(shape_.kv_heads),
                   .lengths = nullptr,
                   .page_tokens = static_cast<int>(shape_.context),
                   .sequence_pages = 1,
                   .table = nullptr,
                   .q = cuda::as<const float>(q),
                   .k = cache.k.get(),
                   .v = cache.v.get(),
                   .k_scale = cuda::as<const float>(cache.k_scale),
                   .v_scale = cuda::as<const float>(cache.v_scale),
                   .out = cuda::as<float>(attended),
                   .chunk = pieces_.chunk,
                   .chunks = pieces_.chunks,
                   .partial_sums = cuda::as<float>(partial_sums_),
                   .partial_stats = cuda::as<float2>(partial_stats_)},
                  stream);
  }

  Shape shape_;
  GpuCalls calls_;
  std::vector<Layer> layers_;
  Weights head_;
  std::array<std::shared_ptr<void>, kStages> states_;  ///< of the products
  attention::Pieces pieces_{};
  Memory start_, partial_sums_, partial_stats_;
};

/// What check_step() looks at, on the host.
template <class W, class C>
class HostCopy {
 public:
  using Weight = W;
  using Cached = C;
  using Cache = typename GpuStack<W, C>::HostCache;
  explicit HostCopy(const GpuStack<W, C>& stack)
      : x(stack.template copy<float>(stack.x, stack.shape().d_model)),
        logits(stack.template copy<float>(stack.logits, stack.shape().vocabulary)),
        shape_(stack.shape()) {
    for (std::int64_t l = 0; l < shape_.layers; ++l)
      caches_.push_back(stack.cache(l, 0, shape_.batch * shape_.kv_heads * shape_.context));
  }
  const Shape& shape() const { return shape_; }
  const Cache& cache(std::int64_t layer) const { return caches_[layer]; }
  std::vector<float> x, logits;

 private:
  Shape shape_;
  std::vector<Cache> caches_;
};

}  // namespace kernels::decode
