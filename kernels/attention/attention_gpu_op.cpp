// Decode attention on a GPU as an operation: its cases, its inputs, its oracle.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/attention/attention_gpu.hpp"
#include "kernels/attention/attention_gpu_pieces.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/registry.hpp"
#include "kernels/values.hpp"

namespace kernels::attention {
namespace {

using cuda::Memory;
using cuda::Type;
using cuda::Values;

/// Multiply-adds that the oracle does at most; beyond it takes a sample of the heads.
constexpr double kOracleMacs = 4e8;
/// Uniform keys in [-1, 1) and queries in [-6, 6): scores of deviation 2.
constexpr float kQueryAmplitude = 6;
constexpr std::uint64_t kSeedQ = 1, kSeedK = 2, kSeedV = 3, kSeedKScale = 4, kSeedVScale = 5;

/// Throws BadInput also for what 32-bit indices do not reach.
Shape gpu_shape_of(const Case& c) {
  const Shape s = shape_of(c);
  if (s.context > 1 << 24) throw BadInput("shape: context:" + c.text("context") + " is too large");
  if (s.batch * s.heads > 65535)  // a grid's blocks in y
    throw BadInput("shape: batch:" + c.text("batch") + " times heads is too large");
  return s;
}

GpuLaunch launch_of(const KernelInfo& info, Type type, std::int64_t head_dim) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  const GpuLaunches none, &launches = type == Type::f32    ? kernel.f32
                                      : type == Type::bf16 ? kernel.bf16
                                      : type == Type::f16  ? kernel.f16
                                      : type == Type::e4m3 ? kernel.e4m3
                                      : type == Type::s8   ? kernel.s8
                                                           : none;
  return head_dim == 64 ? launches.dim_64 : head_dim == 128 ? launches.dim_128 : nullptr;
}

float scale_value(std::uint64_t seed, std::int64_t row) {
  return (1.0f + 0.5f * random_value<float>(seed, row)) / 127;
}

/// A key as its type holds it, written to `to` as well.
double store(Type type, float x, void* to) {
  const auto put = [&](auto value) {
    std::memcpy(to, &value, sizeof value);
    return cuda::load_as_double(type, to, 0);
  };
  switch (type) {
    case Type::bf16:
      return put(bf16(x));
    case Type::f16:
      return put(__float2half_rn(x));
    case Type::e4m3:
      return put(__nv_fp8_e4m3(x));
    case Type::s8:
      return put(static_cast<std::int8_t>(std::clamp(std::round(x), -127.0f, 127.0f)));
    default:
      return put(x);
  }
}

/// Rows of K and V in one copy of the cache, and bytes of device memory for all copies.
struct Size {
  std::int64_t page_tokens, sequence_pages, rows, slots;
  double bytes;
};
Size size_of(const Shape& s, Type type, bool cold, const Caches& caches) {
  const int scale_bytes = type == Type::s8 ? 4 : 0;
  Size out{};
  out.slots =
      cold ? cuda::cold_slots(attention::cost(s, cuda::size_of(type), scale_bytes).bytes, caches)
           : 1;
  out.page_tokens = s.page > 0 ? s.page : s.context;
  out.sequence_pages = (s.context + out.page_tokens - 1) / out.page_tokens;
  out.rows = s.batch * out.sequence_pages * s.kv_heads * out.page_tokens;
  const double row_bytes = 2.0 * (s.head_dim * cuda::size_of(type) + scale_bytes);
  out.bytes = row_bytes * static_cast<double>(out.rows * out.slots);
  return out;
}

/// The first and the last token and both sides of the first page's edge point along their queries,
/// far enough that each carries weight: leaving one out shows.
class GpuAttention final : public cuda::GpuProblem {
 public:
  GpuAttention(const KernelInfo& info, const Case& c, const Caches& caches)
      : kernel_(*static_cast<const GpuKernel*>(info.table)),
        type_(cuda::parse_type("attention", c.dtype)),
        case_(c),
        caches_(caches),
        shape_(gpu_shape_of(c)),
        launch_(launch_of(info, type_, shape_.head_dim)) {
    const Shape& s = shape_;
    const Size size = size_of(s, type_, c.cold(), caches);
    slots_ = size.slots;
    page_tokens_ = size.page_tokens;
    sequence_pages_ = size.sequence_pages;
    rows_ = size.rows;
    cuda::require_device_memory(size.bytes, caches);
    pieces_ = pieces_of(kernel_, s, cuda::size_of(type_), caches.cores);

    if (s.page > 0) {
      table_host_.resize(s.batch * sequence_pages_);
      std::iota(table_host_.begin(), table_host_.end(), 0);
      for (std::size_t i = table_host_.size() - 1; i > 0; --i)
        std::swap(table_host_[i], table_host_[hash(7, i) % (i + 1)]);
      table_ = cuda::upload(table_host_);
    }
    if (s.ragged) {
      std::vector<std::int32_t> lengths(s.batch);
      for (std::int64_t b = 0; b < s.batch; ++b)
        lengths[b] = static_cast<std::int32_t>(length_of(s, b));
      lengths_ = cuda::upload(lengths);
    }
    std::vector<float> q(outputs());
    for (std::int64_t i = 0; i < outputs(); ++i) q[i] = query(i);
    q_ = cuda::upload(q);
    out_ = cuda::allocate(outputs() * sizeof(float));
    const std::int64_t pieces = partials(s.batch, s.heads, pieces_.chunks);
    partial_sums_ = cuda::allocate(pieces * s.head_dim * sizeof(float));
    partial_stats_ = cuda::allocate(pieces * sizeof(float2));
    finished_ = cuda::allocate_zeroed((s.batch * s.heads + 1) * sizeof(unsigned));
    make_marks();
    make_caches();
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      if (kernel_.open != nullptr)
        caches_of_[slot].state = kernel_.open(arguments(slot), type_, rows_, s.head_dim);
    }
  }

  std::int64_t enqueue(std::int64_t first, std::int64_t count, cudaStream_t stream) override {
    std::int64_t launches = 0;
    for (std::int64_t i = first; i < first + count; ++i)
      launches += launch_(arguments(i % slots_), stream);
    return launches;
  }

  std::string verify() override {
    const Shape& s = shape_;
    const GpuArguments last = arguments(slots_ - 1);
    const bool narrow = kernel_.narrow_out != nullptr;
    const Type out_type = narrow ? type_ : Type::f32;
    void* const result = narrow ? kernel_.narrow_out(last) : last.out;
    const std::int64_t result_bytes = outputs() * cuda::size_of(out_type);
    cuda::poison(result, result_bytes);
    cuda::poison(partial_sums_.get(), partials(s.batch, s.heads, pieces_.chunks) * s.head_dim * 4);
    cuda::poison(partial_stats_.get(), partials(s.batch, s.heads, pieces_.chunks) * sizeof(float2));
    run(slots_ - 1, 1);
    const auto bytes = cuda::to_host(result, result_bytes);
    std::vector<float> out(outputs());
    for (std::int64_t i = 0; i < outputs(); ++i)
      out[i] = static_cast<float>(cuda::load_as_double(out_type, bytes.data(), i));

    const std::int64_t all = s.batch * s.heads;
    const double per_head = 2.0 * static_cast<double>(s.context * s.head_dim);
    const std::int64_t checked =
        std::min(all, std::max<std::int64_t>(2, static_cast<std::int64_t>(kOracleMacs / per_head)));
    std::string wrong;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t i = 0; i < checked; ++i) {
      const std::int64_t head = checked == 1 ? 0 : i * (all - 1) / (checked - 1);
      std::string found = check_head(head, out);
#pragma omp critical
      if (!found.empty()) wrong = std::move(found);
    }
    return wrong;
  }

  Cost cost() const override {
    return attention::cost(shape_, cuda::size_of(type_), scaled() ? 4 : 0);
  }

  /// A group's heads that do not share a read fetch the cache from L2 once each.
  LevelBytes traffic() const override {
    const Shape& s = shape_;
    const double cache =
        2.0 * static_cast<double>(s.kv_heads * (s.ragged ? s.tokens : s.batch * s.context)) *
        static_cast<double>(s.head_dim * cuda::size_of(type_) + (scaled() ? 4 : 0));
    const auto reads = static_cast<double>(reads_of(kernel_, s, cuda::size_of(type_)));
    LevelBytes t = cuda::streaming_traffic(cost().bytes, working_set_bytes(), caches_);
    t.l1 = t.l2 = cost().bytes + (reads - 1) * cache;
    return t;
  }

  std::string label() const override {
    return kernel_.label != nullptr ? kernel_.label() : std::string();
  }
  double working_set_bytes() const override { return cost().bytes * static_cast<double>(slots_); }
  std::pair<std::string, std::string> exec_unit() const override {
    if (whole_weights()) return {"mma", "s8"};
    if (kernel_.tensor_cores) return {"mma", in_bf16() ? "bf16" : "f16"};
    return {"cuda-core", "f32"};
  }

 private:
  struct Cache {
    Memory k, v, k_scale, v_scale;
    std::shared_ptr<void> state;  ///< the variant's own
  };

  bool scaled() const { return type_ == Type::s8; }
  bool whole_weights() const { return scaled() && kernel_.two_terms.s8_weight > 0; }
  std::int64_t outputs() const { return shape_.batch * shape_.heads * shape_.head_dim; }
  static float query(std::int64_t i) { return kQueryAmplitude * random_value<float>(kSeedQ, i); }

  std::int64_t row_of(std::int64_t sequence, std::int64_t kv_head, std::int64_t token) const {
    std::int64_t page = sequence * sequence_pages_ + token / page_tokens_;
    if (shape_.page > 0) page = table_host_[page];
    return (page * shape_.kv_heads + kv_head) * page_tokens_ + token % page_tokens_;
  }

  void make_marks() {
    const Shape& s = shape_;
    const std::int64_t group = s.heads / s.kv_heads;
    // A key f q scores f |q|^2 / sqrt(head_dim), with |q|^2 = amplitude^2 / 3 * head_dim.
    const std::int64_t page = s.page > 0 ? s.page : kPage;
    std::vector<std::byte> element(cuda::size_of(type_));
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const std::int64_t length = length_of(s, b);
      const double wanted = std::max(1.0, std::log(static_cast<double>(length)) - 1);
      const double along = wanted / (kQueryAmplitude * kQueryAmplitude / 3 *
                                     std::sqrt(static_cast<double>(s.head_dim)));
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (const std::int64_t token : {std::int64_t{0}, page - 1, page, length - 1}) {
          if (token >= length) continue;
          const std::int64_t row = row_of(b, h, token);
          std::vector<double> key(s.head_dim);
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            double x = 0;
            for (std::int64_t g = 0; g < group; ++g)
              x += along * query(((b * s.kv_heads + h) * group + g) * s.head_dim + d);
            if (scaled()) x /= scale_value(kSeedKScale, row);
            key[d] = store(type_, static_cast<float>(x), element.data());
          }
          marks_[row] = std::move(key);
        }
    }
  }

  /// The keys of a row, without their scale.
  void keys_of(std::int64_t row, std::vector<double>& keys) const {
    if (const auto mark = marks_.find(row); mark != marks_.end()) {
      keys = mark->second;
      return;
    }
    for (std::int64_t d = 0; d < shape_.head_dim; ++d)
      keys[d] = cuda::value_at(type_, kSeedK, row * shape_.head_dim + d, Values::random);
  }

  /// One of each slot, the others copies of the first.
  void make_caches() {
    const std::int64_t bytes = rows_ * shape_.head_dim * cuda::size_of(type_);
    const std::int64_t scale_bytes = scaled() ? rows_ * std::int64_t{sizeof(float)} : 0;
    const auto ks = cuda::allocate_many(slots_, bytes), vs = cuda::allocate_many(slots_, bytes),
               k_scales = cuda::allocate_many(slots_, scale_bytes),
               v_scales = cuda::allocate_many(slots_, scale_bytes);
    for (std::int64_t slot = 0; slot < slots_; ++slot)
      caches_of_.push_back({ks[slot], vs[slot], k_scales[slot], v_scales[slot], {}});
    fill_cache(caches_of_[0]);
    for (const auto* copies : {&ks, &vs}) cuda::copy_first(*copies, bytes);
    for (const auto* copies : {&k_scales, &v_scales}) cuda::copy_first(*copies, scale_bytes);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  void fill_cache(const Cache& cache) const {
    const std::int64_t n = rows_ * shape_.head_dim, e = cuda::size_of(type_);
    cuda::fill(type_, cache.k.get(), {1, n, n}, kSeedK, Values::random);
    cuda::fill(type_, cache.v.get(), {1, n, n}, kSeedV, Values::random);
    for (const auto& [row, key] : marks_) {
      std::vector<std::byte> bytes(shape_.head_dim * e);
      for (std::int64_t d = 0; d < shape_.head_dim; ++d)
        store(type_, static_cast<float>(key[d]), &bytes[d * e]);
      CUDA_CHECK(cudaMemcpy(cuda::as<std::byte>(cache.k) + row * shape_.head_dim * e, bytes.data(),
                            bytes.size(), cudaMemcpyHostToDevice));
    }
    if (kernel_.narrow_out == nullptr) poison_unused(cache);
    if (!scaled()) return;
    const auto fill_scales = [&](const Memory& memory, std::uint64_t seed) {
      std::vector<float> values(rows_);
      for (std::int64_t row = 0; row < rows_; ++row) values[row] = scale_value(seed, row);
      CUDA_CHECK(cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(float),
                            cudaMemcpyHostToDevice));
    };
    fill_scales(cache.k_scale, kSeedKScale);
    fill_scales(cache.v_scale, kSeedVScale);
  }

  /// Rows that hold no token are no numbers, so that a kernel which uses them shows it. Not by
  /// cuda::poison(), which waits for the device: there are a hundred thousand pages.
  void poison_unused(const Cache& cache) const {
    const Shape& s = shape_;
    const std::int64_t row_bytes = s.head_dim * cuda::size_of(type_);
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (std::int64_t t = length_of(s, b); t < sequence_pages_ * page_tokens_;) {
          const std::int64_t row = row_of(b, h, t), left = page_tokens_ - t % page_tokens_;
          for (const Memory* memory : {&cache.k, &cache.v})
            CUDA_CHECK(
                cudaMemset(cuda::as<std::byte>(*memory) + row * row_bytes, 0xff, left * row_bytes));
          t += left;
        }
  }

  GpuArguments arguments(std::int64_t slot) const {
    const Cache& cache = caches_of_[slot];
    const Shape& s = shape_;
    return {.batch = static_cast<int>(s.batch),
            .context = static_cast<int>(s.context),
            .heads = static_cast<int>(s.heads),
            .kv_heads = static_cast<int>(s.kv_heads),
            .lengths = cuda::as<const std::int32_t>(lengths_),
            .page_tokens = static_cast<int>(page_tokens_),
            .sequence_pages = static_cast<int>(sequence_pages_),
            .table = cuda::as<const std::int32_t>(table_),
            .q = cuda::as<const float>(q_),
            .k = cache.k.get(),
            .v = cache.v.get(),
            .k_scale = cuda::as<const float>(cache.k_scale),
            .v_scale = cuda::as<const float>(cache.v_scale),
            .out = cuda::as<float>(out_),
            .chunk = pieces_.chunk,
            .chunks = pieces_.chunks,
            .partial_sums = cuda::as<float>(partial_sums_),
            .partial_stats = cuda::as<float2>(partial_stats_),
            .finished = cuda::as<unsigned>(finished_),
            .state = cache.state.get()};
  }

  /// One head in double, from the values that the inputs must have. Empty when right.
  std::string check_head(std::int64_t head, const std::vector<float>& got) const {
    const Shape& s = shape_;
    const std::int64_t b = head / s.heads, kv_head = head % s.heads / (s.heads / s.kv_heads);
    const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    const std::int64_t length = length_of(s, b);
    std::vector<double> p(length), q(s.head_dim), keys(s.head_dim);
    double q_max = 0, scale_max = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      q[d] = query(head * s.head_dim + d);
      q_max = std::max(q_max, std::abs(q[d]));
    }
    double max = -std::numeric_limits<double>::infinity(), score_error = 0;
    const TwoTerms& two = kernel_.two_terms;
    const double rounding = kernel_.tensor_cores && !whole_weights() ? half_unit() : 0;
    const bool two_terms = two.s8_query > 0 && cuda::size_of(type_) == 1;
    const double query_rounding = two_terms ? 0 : rounding;
    const double whole_query = scaled() ? two.s8_query * q_max : 0;
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int64_t row = row_of(b, kv_head, t);
      keys_of(row, keys);
      double dot = 0, magnitude = 0, squares = 0, key_squares = 0;
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        const double term = q[d] * keys[d];
        dot += term;
        magnitude += std::abs(term);
        squares += term * term;
        key_squares += keys[d] * keys[d];
      }
      const double factor = scaled() ? scale * scale_value(kSeedKScale, row) : scale;
      p[t] = dot * factor;
      max = std::max(max, p[t]);
      const double error = (walk(s.head_dim) + 8) * kEps * magnitude +
                           walk(1) * query_rounding * std::sqrt(squares) +
                           walk(1) * whole_query * std::sqrt(key_squares);
      score_error = std::max(score_error, error * factor);
      if (scaled()) scale_max = std::max<double>(scale_max, scale_value(kSeedVScale, row));
    }
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - max);
    // Whole weights are rounded up as often as their fraction says: its variance is f (1 - f).
    const double unit = whole_weights() ? two.s8_weight * scale_max / sum : 0;
    std::vector<double> out(s.head_dim), magnitude(s.head_dim), variance(s.head_dim);
    for (std::int64_t t = 0; t < length; ++t) {
      const std::int64_t row = row_of(b, kv_head, t);
      const double weight = p[t] / sum * (scaled() ? scale_value(kSeedVScale, row) : 1.0f);
      const double of_weight = unit * std::min(unit / 4, weight);
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        const double value = cuda::value_at(type_, kSeedV, row * s.head_dim + d, Values::random);
        out[d] += weight * value;
        magnitude[d] += std::abs(weight * value);
        variance[d] += of_weight * value * value;
      }
    }
    // As on the CPU (attention_op.cpp): a score's error moves its weight, numerator and denominator
    // alike, and both sums run over the context, each a random walk three deviations wide. exp2f is
    // good to 2 units in the last place, after a product with log2(e) that rounds the query again.
    const double relative = 2 * (score_error + 4 * kEps + rounding) +
                            2 * (walk(length) + 8) * kEps +
                            (kernel_.narrow_out != nullptr ? half_unit() : 0);
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const float g = got[head * s.head_dim + d];
      const double allowed = relative * magnitude[d] + walk(1) * std::sqrt(variance[d]);
      if (!(std::abs(g - out[d]) <= allowed))
        return "attention " + case_.name() + ": out[" + std::to_string(b) + "][" +
               std::to_string(head % s.heads) + "][" + std::to_string(d) + "] is " +
               std::to_string(g) + ", the oracle says " + std::to_string(out[d]);
    }
    return {};
  }

  static constexpr double kEps = 0x1p-24;
  static double walk(std::int64_t n) { return 3 * std::sqrt(static_cast<double>(n)); }
  /// What tensor cores multiply in, and half a unit of its last place.
  bool in_bf16() const { return type_ == Type::bf16 || type_ == Type::s8; }
  double half_unit() const { return in_bf16() ? 0x1p-9 : 0x1p-12; }

  const GpuKernel& kernel_;
  Type type_;
  Case case_;
  Caches caches_;
  Shape shape_;
  GpuLaunch launch_;
  std::int64_t slots_ = 1, page_tokens_ = 0, sequence_pages_ = 0, rows_ = 0;
  Pieces pieces_{};
  std::vector<std::int32_t> table_host_;
  std::unordered_map<std::int64_t, std::vector<double>> marks_;  ///< keys set by hand, by row
  Memory table_, lengths_, q_, out_, partial_sums_, partial_stats_, finished_;
  std::vector<Cache> caches_of_;  ///< one of each slot, with the same values
};

bool supports(const KernelInfo& info, const Case& c) {
  const auto& kernel = *static_cast<const GpuKernel*>(info.table);
  const Type type = cuda::parse_type("attention", c.dtype);
  const Shape s = gpu_shape_of(c);
  if (kernel.max_bytes > 0 && attention::cost(s, cuda::size_of(type), 0).bytes > kernel.max_bytes)
    return false;
  return s.page % kernel.page_grain == 0 && launch_of(info, type, s.head_dim) != nullptr;
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  return std::make_unique<GpuAttention>(info, c, caches);
}

std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  const Type type = cuda::parse_type("attention", c.dtype);
  return cuda::device_memory_missing(size_of(shape_of(c), type, c.cold(), caches).bytes, caches);
}

constexpr const char* kTypes[] = {"f32", "bf16", "f16", "e4m3", "s8"};

/// Around 32 / 8 heads of 128; the other settings a few at a time. What does not fit this GPU is
/// listed all the same (unfit()).
std::vector<Case> cases(const Caches&) {
  std::vector<Case> all;
  for (const std::string type : kTypes) {
    const auto add = [&](const Shape& s, bool cold = true, bool quick = false) {
      Case c = make_case(type.c_str(), s, cold ? "cold" : "warm", 1);
      c.quick = quick;
      all.push_back(std::move(c));
    };
    const auto shape = [](std::int64_t batch, std::int64_t context) {
      return Shape{.batch = batch, .context = context, .heads = 32, .kv_heads = 8, .head_dim = 128};
    };
    for (const std::int64_t batch : {1, 8, 32, 128, 256})
      for (const std::int64_t context : {512, 2048, 8192, 32768, 131072}) {
        if (type == "f32" && (batch > 32 || context > 32768)) continue;
        const bool quick = type != "f32" && context == 8192 && (batch == 1 || batch == 32);
        add(shape(batch, context), true, quick);
      }
    for (const std::int64_t batch : {1, 8, 32})
      for (const std::int64_t page : {16, 64}) {
        Shape s = shape(batch, 8192);
        s.page = page;
        add(s, true, type == "bf16" && batch == 32 && page == 16);
        s.ragged = true;
        if (batch > 1) add(s, true, type == "bf16" && batch == 32 && page == 16);
      }
    for (const std::int64_t context : {2048, 32768})
      for (const std::int64_t page : {16, 64}) {
        Shape s = shape(8, context);
        s.page = page;
        add(s);
      }
    // N / K = 1, 8 and 16 beside 4, and heads of 64.
    for (const auto& [heads, kv_heads] : {std::pair{32, 32}, {64, 8}, {128, 8}}) {
      Shape s = shape(8, 2048);
      s.heads = heads, s.kv_heads = kv_heads;
      add(s);
      s.context = 32768;
      add(s);
      s.context = 8192;
      for (const std::int64_t batch : {1, 32}) {
        s.batch = batch, s.page = 0;
        add(s, true, type == "bf16" && batch == 32);
        s.page = 64;
        add(s);
      }
    }
    for (const std::int64_t batch : {1, 8, 32}) {
      Shape s = shape(batch, 8192);
      s.head_dim = 64;
      add(s);
    }
    add(shape(1, 2048), false, type == "bf16");  // stays in L2
  }
  return all;
}

/// Lengths around the tokens of a step, a page and a chunk; groups of 1, 3, 4, 8, 16 and 17.
std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const char* dtype : kTypes)
    for (const std::int64_t page : {std::int64_t{0}, kPage}) {
      const auto add = [&](std::int64_t batch, std::int64_t context, std::int64_t heads,
                           std::int64_t kv_heads, std::int64_t head_dim, bool ragged = false) {
        all.push_back(make_case(dtype,
                                {.batch = batch,
                                 .context = context,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .head_dim = head_dim,
                                 .page = page,
                                 .ragged = ragged},
                                "warm", 1));
      };
      for (const std::int64_t context : {1, 2, 7, 15, 16, 17, 33, 63, 64, 65, 127, 511, 1025, 4099})
        add(1, context, 4, 1, context % 2 == 0 ? 64 : 128);
      add(3, 300, 3, 3, 64);
      add(2, 300, 6, 2, 128);
      add(2, 300, 16, 2, 64);
      add(1, 300, 16, 1, 128);
      add(1, 100, 17, 1, 64);
      add(5, 300, 8, 2, 128, true);
    }
  for (const std::int64_t page : {1, 5, 64})
    all.push_back(make_case(
        "bf16",
        {.batch = 2, .context = 333, .heads = 8, .kv_heads = 2, .head_dim = 128, .page = page},
        "warm", 1));
  return all;
}

}  // namespace

extern const Operation gpu_operation = {cases, test_cases, supports, bind, unfit};

}  // namespace kernels::attention
