// A decode step on a GPU as an operation: its cases, its memory, its launches. The oracle is the
// CPU's (decode_verify.hpp), on copies of what each kernel got and left.
#include <omp.h>

#include <limits>
#include <stdexcept>

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/attention/attention_gpu_pieces.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/decode/decode_cases.hpp"
#include "kernels/decode/decode_gpu.hpp"
#include "kernels/decode/decode_verify.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/matmul/matmul_gpu_traffic.hpp"
#include "kernels/registry.hpp"

namespace kernels::decode {
namespace {

using cuda::Memory;
using cuda::Type;
using cuda::Values;

/// How far attention on tensor cores may be off, whose queries and weights are rounded to bf16
/// (2^-9 of each): a few of that times values of about 1. On CUDA cores it works in fp32.
constexpr double kTensorTolerance = 0x1p-6, kTolerance = 1e-4;

template <class T>
constexpr Type kType = kScaled<T> ? Type::s8 : Type::bf16;

const KernelInfo& registered(std::string_view op, std::string_view variant) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == op && info.variant == variant && info.gpu()) return info;
  throw std::logic_error("kernels.def: no " + std::string(op) + " " + std::string(variant) +
                         " on a GPU");
}

/// The registered kernels of a variant for one case.
struct Choice {
  const KernelInfo *product, *attend;
};
Choice choose(const GpuKernel& kernel, const Case& c) {
  return {&registered("matmul", kernel.matmul),
          &registered("attention", kv_of(c) == "s8" ? kernel.attention_s8 : kernel.attention_bf16)};
}

/// What the stack takes; scratch memory of the kernels is small beside it.
double memory_bytes(const Shape& s, const ElementBytes& e) {
  const double b = static_cast<double>(s.batch);
  return cost(s, e).bytes + b * 4 * static_cast<double>(8 * s.d_model + 3 * s.d_ff + s.vocabulary);
}

template <class T>
std::vector<T> to_host(const void* p, std::int64_t n) {
  std::vector<T> host(n);
  CUDA_CHECK(cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

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
class GpuDecode final : public cuda::GpuProblem {
 public:
  GpuDecode(const GpuKernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel),
        case_(c),
        caches_(caches),
        choice_(choose(kernel, c)),
        product_(*static_cast<const matmul::GpuKernel*>(choice_.product->table)),
        attend_(*static_cast<const attention::GpuKernel*>(choice_.attend->table)),
        shape_(shape_of(c)) {
    const Shape& s = shape_;
    cuda::require_device_memory(memory_bytes(s, kElement<W, C>), caches);
    for (int stage = 0; stage < kStages; ++stage)
      if (stage != kHead || s.vocabulary > 0) stages_.push_back(static_cast<Stage>(stage));

    for (std::int64_t l = 0; l < s.layers; ++l) {
      Layer& layer = layers_.emplace_back();
      for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown})
        layer.weights[stage] = make_weights(l, stage);
      layer.cache = make_cache(l);
    }
    if (s.vocabulary > 0) head_ = make_weights(s.layers, kHead);

    const std::int64_t b = s.batch, queries = s.heads * s.head_dim;
    start_ = upload(b * s.d_model, start_value);
    x_ = floats(b * s.d_model);
    qkv_ = floats(b * product(s, kQkv).n);
    q_ = floats(b * queries);
    attended_ = floats(b * queries);
    update_ = floats(b * s.d_model);
    up_ = floats(b * 2 * s.d_ff);
    logits_ = floats(b * s.vocabulary);
    normed_ = cuda::allocate(b * s.d_model * sizeof(bf16));
    attended_bf16_ = cuda::allocate(b * queries * sizeof(bf16));
    gated_ = cuda::allocate(b * s.d_ff * sizeof(bf16));
    pieces_ = attention::pieces_of(attend_, attention_shape(), sizeof(C), caches.cores);
    const std::int64_t partials =
        attention::partials(static_cast<int>(b), static_cast<int>(s.heads), pieces_.chunks);
    partial_sums_ = floats(partials * s.head_dim);
    partial_stats_ = floats(partials * 2);

    if (product_.open == nullptr) return;
    for (const Stage stage : stages_)
      if (product(s, stage).n > 0)
        states_[stage] = product_.open(arguments(stage, {}, nullptr, nullptr),
                                       {Type::bf16, kType<W>, Type::f32});
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    std::array<std::size_t, kStages> index{};
    for (std::size_t i = 0; i < stages_.size(); ++i) index[stages_[i]] = i;
    std::int64_t launches = 0;
    for (std::int64_t i = 0; i < count; ++i)
      launches += step(stream, [&](Stage stage, std::int64_t) {
        if (done_) done_(index[stage]);
      });
    return launches;
  }

  void watch(std::function<void(std::size_t)> done) override { done_ = std::move(done); }

  std::string verify() override {
    poison();
    std::string wrong;
    step(nullptr, [&](Stage stage, std::int64_t layer) {
      CUDA_CHECK(cudaDeviceSynchronize());
      if (wrong.empty()) wrong = check(stage, layer);
    });
    if (wrong.empty() && cost().flops / 2 <= kWholeOracle) wrong = check_step(Copy(*this));
    return wrong.empty() ? wrong : "decode " + case_.name() + ": " + wrong;
  }

  Cost cost() const override { return decode::cost(shape_, kElement<W, C>); }

  LevelBytes traffic() const override {
    LevelBytes sum{.l1 = 0, .l2 = 0};
    for (const Stage stage : stages_) {
      const LevelBytes part = traffic(stage);
      sum.l1 += part.l1;
      sum.l2 += part.l2;
    }
    if (beyond_l2()) sum.dram = cost().bytes;
    return sum;
  }

  /// All weights and the whole cache are read in turn, once a step.
  double working_set_bytes() const override { return cost().bytes; }

  std::pair<std::string, std::string> exec_unit() const override {
    return {product_.exec_unit, "bf16"};
  }

  std::vector<Part> parts() const override {
    std::vector<Part> out;
    for (const Stage stage : stages_) {
      Part part{.name = kStageNames[stage],
                .cost = decode::cost(shape_, stage, kElement<W, C>),
                .traffic = traffic(stage)};
      if (stage == kAttention) {
        part.op = "attention";
        part.variant = choice_.attend->variant;
        part.dtype = dtype_name<C>();
        part.exec_unit =
            attend_.tensor_cores ? std::pair{"mma", "bf16"} : std::pair{"cuda-core", "f32"};
      } else if (stage == kGlue) {
        part.op = "glue";
        part.dtype = "f32";
        part.exec_unit = {"cuda-core", "f32"};
      } else {
        part.op = "matmul";
        part.variant = choice_.product->variant;
        part.dtype = case_.dtype;
        part.exec_unit = exec_unit();
      }
      out.push_back(std::move(part));
    }
    return out;
  }

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

  /// What check_step() looks at, on the host.
  class Copy {
   public:
    using Weight = W;
    using Cached = C;
    struct Cache {
      std::vector<C> k, v;
      std::vector<float> k_scale, v_scale;
    };
    explicit Copy(const GpuDecode& from)
        : x(from.copy<float>(from.x_, from.shape_.d_model)),
          logits(from.copy<float>(from.logits_, from.shape_.vocabulary)),
          shape_(from.shape_) {
      for (std::int64_t l = 0; l < shape_.layers; ++l)
        caches_.push_back(from.tokens<Cache>(l, 0, from.cache_rows()));
    }
    const Shape& shape() const { return shape_; }
    const Cache& cache(std::int64_t layer) const { return caches_[layer]; }
    std::vector<float> x, logits;

   private:
    Shape shape_;
    std::vector<Cache> caches_;
  };

  static Memory floats(std::int64_t n) { return cuda::allocate(n * sizeof(float)); }

  bool beyond_l2() const {
    return caches_.l2 > 0 && working_set_bytes() > static_cast<double>(caches_.l2);
  }
  attention::Shape attention_shape() const {
    return {shape_.batch, shape_.context, shape_.heads, shape_.kv_heads, shape_.head_dim};
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

  /// One step from the same residuals each time; returns its launches. Calls `done(stage, layer)`
  /// behind every stretch.
  template <class Done>
  std::int64_t step(cudaStream_t stream, Done done) {
    const Shape& s = shape_;
    const GpuGlue& glue = kernel_.glue;
    std::int64_t launches = 0;
    const auto multiply = [&](Stage stage, std::int64_t layer, const Weights& weights,
                              const Memory& in, const Memory& out) {
      const auto launch = kScaled<W> ? product_.bf16xs8 : product_.bf16;
      launch(arguments(stage, weights, in.get(), out.get()), stream);
      ++launches;
      done(stage, layer);
    };
    const auto add_normalise = [&](const float* update, bool normalise) {
      glue.add_normalise(cuda::as<float>(x_), update, s.batch, s.d_model,
                         normalise ? cuda::as<bf16>(normed_) : nullptr, stream);
      ++launches;
    };

    CUDA_CHECK(cudaMemcpyAsync(x_.get(), start_.get(), s.batch * s.d_model * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream));
    ++launches;
    add_normalise(nullptr, true);
    for (std::int64_t l = 0; l < s.layers; ++l) {
      const Layer& layer = layers_[l];
      done(kGlue, l);
      multiply(kQkv, l, layer.weights[kQkv], normed_, qkv_);
      (kScaled<C> ? glue.store_s8 : glue.store_bf16)(new_token(layer.cache), stream);
      ++launches;
      done(kGlue, l);
      launches += attend(layer.cache, stream);
      done(kAttention, l);
      glue.narrow(cuda::as<float>(attended_), s.batch * s.heads * s.head_dim,
                  cuda::as<bf16>(attended_bf16_), stream);
      ++launches;
      done(kGlue, l);
      multiply(kOut, l, layer.weights[kOut], attended_bf16_, update_);
      add_normalise(cuda::as<float>(update_), true);
      done(kGlue, l);
      multiply(kMlpUp, l, layer.weights[kMlpUp], normed_, up_);
      glue.gate(cuda::as<float>(up_), s.batch, s.d_ff, cuda::as<bf16>(gated_), stream);
      ++launches;
      done(kGlue, l);
      multiply(kMlpDown, l, layer.weights[kMlpDown], gated_, update_);
      add_normalise(cuda::as<float>(update_), l + 1 < s.layers || s.vocabulary > 0);
    }
    done(kGlue, s.layers - 1);
    if (s.vocabulary > 0) multiply(kHead, s.layers, head_, normed_, logits_);
    return launches;
  }

  NewToken new_token(const Cache& cache) const {
    return {.qkv = cuda::as<float>(qkv_),
            .q = cuda::as<float>(q_),
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
    const attention::GpuLaunches& launches = kScaled<C> ? attend_.s8 : attend_.bf16;
    const auto launch = shape_.head_dim == 64 ? launches.dim_64 : launches.dim_128;
    return launch({.batch = static_cast<int>(shape_.batch),
                   .context = static_cast<int>(shape_.context),
                   .heads = static_cast<int>(shape_.heads),
                   .kv_heads = static_cast<int>(shape_.kv_heads),
                   .lengths = nullptr,
                   .page_tokens = static_cast<int>(shape_.context),
                   .sequence_pages = 1,
                   .table = nullptr,
                   .q = cuda::as<const float>(q_),
                   .k = cache.k.get(),
                   .v = cache.v.get(),
                   .k_scale = cuda::as<const float>(cache.k_scale),
                   .v_scale = cuda::as<const float>(cache.v_scale),
                   .out = cuda::as<float>(attended_),
                   .chunk = pieces_.chunk,
                   .chunks = pieces_.chunks,
                   .partial_sums = cuda::as<float>(partial_sums_),
                   .partial_stats = cuda::as<float2>(partial_stats_)},
                  stream);
  }

  /// Without HBM where the whole stack stays in L2. Between two runs of the same stage the whole
  /// rest of the stack passes; glue works on what is in L2.
  LevelBytes traffic(Stage stage) const {
    const Cost work = decode::cost(shape_, stage, kElement<W, C>);
    LevelBytes t{.l1 = work.bytes, .l2 = work.bytes};
    if (stage == kGlue) return t;
    if (stage == kAttention) {
      t.l1 = t.l2 = work.bytes *
                    static_cast<double>(attention::reads_of(attend_, attention_shape(), sizeof(C)));
    } else {
      t = matmul::gpu_tile_traffic(product(shape_, stage), {sizeof(bf16), sizeof(W), sizeof(float)},
                                   product_.tiles);
      t.l1 *= static_cast<double>(times(shape_, stage));
      t.l2 *= static_cast<double>(times(shape_, stage));
    }
    if (beyond_l2()) t.dram = work.bytes;
    return t;
  }

  /// Spoils all that a step writes before it reads it.
  void poison() {
    const Shape& s = shape_;
    const std::int64_t b = s.batch, queries = s.heads * s.head_dim;
    for (const auto& [memory, n] : {std::pair{&x_, s.d_model},
                                    {&qkv_, product(s, kQkv).n},
                                    {&q_, queries},
                                    {&attended_, queries},
                                    {&update_, s.d_model},
                                    {&up_, 2 * s.d_ff},
                                    {&logits_, s.vocabulary}})
      cuda::poison(memory->get(), b * n * sizeof(float));
    for (const auto& [memory, n] :
         {std::pair{&normed_, s.d_model}, {&attended_bf16_, queries}, {&gated_, s.d_ff}})
      cuda::poison(memory->get(), b * n * sizeof(bf16));
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

  /// A row of `n` for each sequence.
  template <class T>
  std::vector<T> copy(const Memory& memory, std::int64_t n) const {
    return to_host<T>(memory.get(), shape_.batch * n);
  }

  /// Rows of one layer's cache.
  template <class Tokens>
  Tokens tokens(std::int64_t layer, std::int64_t first, std::int64_t rows) const {
    const Cache& cache = layers_[layer].cache;
    const std::int64_t h = shape_.head_dim;
    const auto values = [&](const Memory& memory) {
      return to_host<C>(cuda::as<C>(memory) + first * h, rows * h);
    };
    const auto scales = [&](const Memory& memory) {
      return kScaled<C> ? to_host<float>(cuda::as<float>(memory) + first, rows)
                        : std::vector<float>();
    };
    return {values(cache.k), values(cache.v), scales(cache.k_scale), scales(cache.v_scale)};
  }

  std::string check(Stage stage, std::int64_t layer) const {
    const auto product = [&](const Memory& in, const Memory& out) {
      const matmul::Shape m = decode::product(shape_, stage);
      return check_product<W>(shape_, stage, layer, copy<bf16>(in, m.k).data(),
                              copy<float>(out, m.n).data(), omp_get_max_threads());
    };
    switch (stage) {
      case kQkv:
        return product(normed_, qkv_);
      case kAttention:
        return check_attended(layer);
      case kOut:
        return product(attended_bf16_, update_);
      case kMlpUp:
        return product(normed_, up_);
      case kMlpDown:
        return product(gated_, update_);
      case kHead:
        return product(normed_, logits_);
      default:
        return {};
    }
  }

  std::string check_attended(std::int64_t layer) const {
    const std::int64_t queries = shape_.heads * shape_.head_dim;
    std::vector<typename Copy::Cache> heads;
    for (const std::int64_t head : checked_heads(shape_))
      heads.push_back(tokens<typename Copy::Cache>(layer, first_row(shape_, head), shape_.context));
    return check_attention<C>(
        shape_, layer, copy<float>(q_, queries).data(), copy<float>(attended_, queries).data(),
        heads, attend_.tensor_cores ? kTensorTolerance : kTolerance, omp_get_max_threads());
  }

  const GpuKernel& kernel_;
  Case case_;
  Caches caches_;
  Choice choice_;
  const matmul::GpuKernel& product_;
  const attention::GpuKernel& attend_;
  Shape shape_;
  std::vector<Stage> stages_;  ///< the parts, in the order of parts()
  std::vector<Layer> layers_;
  Weights head_;
  std::array<std::shared_ptr<void>, kStages> states_;  ///< of the products
  attention::Pieces pieces_{};
  Memory start_, x_, qkv_, q_, attended_, update_, up_, logits_, normed_, attended_bf16_, gated_,
      partial_sums_, partial_stats_;
  std::function<void(std::size_t)> done_;
};

/// A kernel's own operation says what it does.
bool does(const KernelInfo& info, const Case& c) { return operation_of(info).supports(info, c); }

bool supports(const KernelInfo& info, const Case& c) {
  const Shape s = shape_of(c);
  const Choice choice = choose(*static_cast<const GpuKernel*>(info.table), c);
  const bool transposed = dispatch(c, []<class W, class C>() { return kScaled<W>; });
  if (s.d_model % kGpuGrain != 0 || s.d_ff % kGpuGrain != 0 || s.vocabulary % kGpuGrain != 0)
    return false;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown, kHead}) {
    const matmul::Shape m = product(s, stage);
    if (m.n == 0) continue;
    Case one{.dtype = c.dtype, .keys = {{"M", text(m.m)}, {"N", text(m.n)}, {"K", text(m.k)}}};
    if (transposed) one.keys.emplace_back("pack", "pre");
    if (!does(*choice.product, one)) return false;
  }
  return does(*choice.attend, {.dtype = kv_of(c),
                               .keys = {{"batch", text(s.batch)},
                                        {"context", text(s.context)},
                                        {"heads", text(s.heads)},
                                        {"kv_heads", text(s.kv_heads)},
                                        {"head_dim", text(s.head_dim)}}});
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  return dispatch(c, [&]<class W, class C>() -> std::unique_ptr<Problem> {
    return std::make_unique<GpuDecode<W, C>>(kernel, c, caches);
  });
}

std::string missing_memory(const Case& c, const Caches& caches) {
  const double bytes =
      dispatch(c, [&]<class W, class C>() { return memory_bytes(shape_of(c), kElement<W, C>); });
  return cuda::device_memory_missing(bytes, caches);
}

std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  return missing_memory(c, caches);
}

/// The 8B model with its head, or as many of its layers as fit. What does not fit with one token is
/// listed all the same (unfit()).
std::vector<Case> gpu_cases(const Caches& caches) {
  std::vector<Case> all;
  const auto add = [&](const char* weights, const char* kv, std::int64_t batch,
                       std::int64_t context, bool quick = false) {
    Shape s{.batch = batch, .context = context, .layers = kLayers8b, .vocabulary = kVocabulary8b};
    while (s.layers > 1 && !missing_memory(make_case(weights, kv, s, 1), caches).empty())
      --s.layers;
    all.push_back(make_case(weights, kv, s, 1));
    all.back().quick = quick;
  };
  for (const auto& [weights, kv] : {std::pair{"bf16", "bf16"}, {"bf16xs8", "s8"}}) {
    for (const int batch : {1, 2, 4, 8, 16, 32, 64})
      add(weights, kv, batch, 1024, batch == 1 || batch == 32);
    for (const int batch : {1, 8, 32})
      for (const int context : {8192, 32768}) add(weights, kv, batch, context);
  }
  // Only one of the two in 8 bits.
  add("bf16xs8", "bf16", 8, 8192);
  add("bf16", "s8", 8, 8192);
  return all;
}

/// One sequence and several, rows beyond one tile of the matmul, columns beyond it, K that is
/// split, contexts of one token, of several pieces and off every step, heads that share a cache and
/// heads that do not, rows longer than a block of the glue.
std::vector<Case> gpu_test_cases() {
  std::vector<Case> all;
  for (const char* weights : {"bf16", "bf16xs8"})
    for (const char* kv : {"bf16", "s8"}) {
      const Shape small{.batch = 1,
                        .context = 5,
                        .layers = 2,
                        .d_model = 48,
                        .d_ff = 80,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = 64,
                        .vocabulary = 144};
      const auto with = [&](auto change) {
        Shape s = small;
        change(s);
        all.push_back(make_case(weights, kv, s, 1));
      };
      with([](Shape&) {});
      with([](Shape& s) { s.context = 1, s.vocabulary = 0; });
      with([](Shape& s) {
        s.batch = 3, s.context = 267, s.layers = 1, s.kv_heads = 1;
        s.d_model = 320, s.d_ff = 272;
      });
      with([](Shape& s) { s.batch = 17, s.layers = 1, s.kv_heads = 4, s.vocabulary = 16; });
      with([](Shape& s) { s.batch = 2, s.head_dim = 128, s.d_model = 16; });
    }
  return all;
}

}  // namespace

extern const Operation gpu_operation = {gpu_cases, gpu_test_cases, supports, bind, unfit};

}  // namespace kernels::decode
