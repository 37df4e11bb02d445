// Decode attention on a GPU as an operation: its memory, its calls, its checks.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/attention/attention_gpu.hpp"
#include "kernels/attention/attention_gpu_cases.hpp"
#include "kernels/attention/attention_gpu_inputs.hpp"
#include "kernels/attention/attention_gpu_pieces.hpp"
#include "kernels/attention/attention_gpu_verify.hpp"
#include "kernels/cuda/fill.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/registry.hpp"

namespace kernels::attention {
namespace {

using cuda::Memory;
using cuda::Type;
using cuda::Values;

/// Multiply-adds that the oracle does at most; beyond it takes a sample of the heads.
constexpr double kOracleMacs = 4e8;

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

/// Copies of the cache, and bytes of device memory for all of them.
struct Size {
  std::int64_t slots;
  double bytes;
};
Size size_of(const Shape& s, Type type, bool cold, const Caches& caches) {
  const int scale_bytes = type == Type::s8 ? 4 : 0;
  Size out{};
  out.slots =
      cold ? cuda::cold_slots(attention::cost(s, cuda::size_of(type), scale_bytes).bytes, caches)
           : 1;
  const double row_bytes = 2.0 * (s.head_dim * cuda::size_of(type) + scale_bytes);
  out.bytes = row_bytes * static_cast<double>(pool_of(s).rows(s) * out.slots);
  return out;
}

/// Throws where the device's memory does not hold them.
std::int64_t slots_that_fit(const Shape& s, Type type, bool cold, const Caches& caches) {
  const Size size = size_of(s, type, cold, caches);
  cuda::require_device_memory(size.bytes, caches);
  return size.slots;
}

class GpuAttention final : public cuda::GpuProblem {
 public:
  GpuAttention(const KernelInfo& info, const Case& c, const Caches& caches)
      : kernel_(*static_cast<const GpuKernel*>(info.table)),
        type_(cuda::parse_type("attention", c.dtype)),
        case_(c),
        caches_(caches),
        shape_(gpu_shape_of(c)),
        slots_(slots_that_fit(shape_, type_, c.cold(), caches)),
        inputs_(shape_, type_),
        launch_(launch_of(info, type_, shape_.head_dim)) {
    const Shape& s = shape_;
    pieces_ = pieces_of(kernel_, s, cuda::size_of(type_), caches.cores);

    if (s.page > 0) table_ = cuda::upload(inputs_.table());
    if (s.ragged) {
      std::vector<std::int32_t> lengths(s.batch);
      for (std::int64_t b = 0; b < s.batch; ++b)
        lengths[b] = static_cast<std::int32_t>(length_of(s, b));
      lengths_ = cuda::upload(lengths);
    }
    std::vector<float> q(outputs());
    for (std::int64_t i = 0; i < outputs(); ++i) q[i] = GpuInputs::query(i);
    q_ = cuda::upload(q);
    out_ = cuda::allocate(outputs() * sizeof(float));
    const std::int64_t pieces = partials(s.batch, s.heads, pieces_.chunks);
    partial_sums_ = cuda::allocate(pieces * s.head_dim * sizeof(float));
    partial_stats_ = cuda::allocate(pieces * sizeof(float2));
    finished_ = cuda::allocate_zeroed((s.batch * s.heads + 1) * sizeof(unsigned));
    make_caches();
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      if (kernel_.open != nullptr)
        caches_of_[slot].state =
            kernel_.open(arguments(slot), type_, inputs_.pool().rows(shape_), s.head_dim);
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
      std::string found = check_head(inputs_, kernel_, head, out);
#pragma omp critical
      if (!found.empty()) wrong = "attention " + case_.name() + ": " + found;
    }
    return wrong;
  }

  Cost cost() const override {
    return attention::cost(shape_, cuda::size_of(type_), inputs_.scaled() ? 4 : 0);
  }

  /// A group's heads that do not share a read fetch the cache from L2 once each.
  LevelBytes traffic() const override {
    const Shape& s = shape_;
    const double cache =
        2.0 * static_cast<double>(s.kv_heads * (s.ragged ? s.tokens : s.batch * s.context)) *
        static_cast<double>(s.head_dim * cuda::size_of(type_) + (inputs_.scaled() ? 4 : 0));
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
    if (whole_weights(kernel_, type_)) return {"mma", "s8"};
    if (kernel_.tensor_cores) return {"mma", in_bf16(type_) ? "bf16" : "f16"};
    return {"cuda-core", "f32"};
  }

 private:
  struct Cache {
    Memory k, v, k_scale, v_scale;
    std::shared_ptr<void> state;  ///< the variant's own
  };

  std::int64_t outputs() const { return shape_.batch * shape_.heads * shape_.head_dim; }
  /// One of each slot, the others copies of the first.
  void make_caches() {
    const std::int64_t bytes = inputs_.pool().rows(shape_) * shape_.head_dim * cuda::size_of(type_);
    const std::int64_t scale_bytes =
        inputs_.scaled() ? inputs_.pool().rows(shape_) * std::int64_t{sizeof(float)} : 0;
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
    const std::int64_t n = inputs_.pool().rows(shape_) * shape_.head_dim, e = cuda::size_of(type_);
    cuda::fill(type_, cache.k.get(), {1, n, n}, kSeedK, Values::random);
    cuda::fill(type_, cache.v.get(), {1, n, n}, kSeedV, Values::random);
    for (const auto& [row, key] : inputs_.marks()) {
      std::vector<std::byte> bytes(shape_.head_dim * e);
      for (std::int64_t d = 0; d < shape_.head_dim; ++d)
        store(type_, static_cast<float>(key[d]), &bytes[d * e]);
      CUDA_CHECK(cudaMemcpy(cuda::as<std::byte>(cache.k) + row * shape_.head_dim * e, bytes.data(),
                            bytes.size(), cudaMemcpyHostToDevice));
    }
    if (kernel_.narrow_out == nullptr) poison_unused(cache);
    if (!inputs_.scaled()) return;
    const auto fill_scales = [&](const Memory& memory, std::uint64_t seed) {
      std::vector<float> values(inputs_.pool().rows(shape_));
      for (std::int64_t row = 0; row < inputs_.pool().rows(shape_); ++row)
        values[row] = scale_value(seed, row);
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
    const Pool& pool = inputs_.pool();
    const std::int64_t row_bytes = s.head_dim * cuda::size_of(type_);
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (std::int64_t t = length_of(s, b); t < pool.sequence_pages * pool.page_tokens;) {
          const std::int64_t row = inputs_.row_of(b, h, t),
                             left = pool.page_tokens - t % pool.page_tokens;
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
            .page_tokens = static_cast<int>(inputs_.pool().page_tokens),
            .sequence_pages = static_cast<int>(inputs_.pool().sequence_pages),
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

  const GpuKernel& kernel_;
  Type type_;
  Case case_;
  Caches caches_;
  Shape shape_;
  std::int64_t slots_;
  GpuInputs inputs_;
  GpuLaunch launch_;
  Pieces pieces_{};
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

}  // namespace

extern const Operation gpu_operation = {gpu_cases, gpu_test_cases, supports, bind, unfit};

}  // namespace kernels::attention
