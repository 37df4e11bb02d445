// Decode attention as an operation: its inputs, its calls, its checks.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/attention/attention_cpu_cases.hpp"
#include "kernels/attention/attention_verify.hpp"
#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/live.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::attention {
namespace {

/// Above this many multiply-adds the oracle takes a sample of the heads.
constexpr double kFullOracle = 2e9;
/// The scalar rungs take part up to this many operations a call, a few tenths of a second.
constexpr double kNaiveFlops = 5e8;

/// Inputs: queries of deviation 2 and keys of deviation 1 give scores of deviation 2, so that the
/// softmax is neither uniform nor one-hot. The first and the last token and the edge of the first
/// page point along their queries, far enough that each carries weight: leaving one out shows.
template <class T>
class Attention final : public Problem {
 public:
  using Function = void (*)(const Args<T>&);

  Attention(const Kernel& kernel, Function function, const Case& c, const Caches& caches)
      : kernel_(kernel),
        function_(function),
        case_(c),
        caches_(caches),
        shape_(shape_of(c)),
        whole_pages_(takes_whole_pages(shape_, sizeof(T), reading_of(caches))),
        pool_(pool_of(shape_)),
        shares_(c.threads) {
    const Shape& s = shape_;
    const double bytes = cost().bytes;
    slots_ = c.cold() ? static_cast<std::int64_t>(cold_footprint(caches) / bytes) + 1 : 1;
    const double slot = bytes * pool_.page_tokens * pool_.sequence_pages / s.context;
    const double ends_of_pages = 4096 * (kScaled<T> ? 4 : 2);  // of K, V and their scales
    const double own = 4.0 * static_cast<double>(scratch_floats(s, c.threads, whole_pages_)) +
                       2.0 * 4 * static_cast<double>(s.batch * s.heads * s.head_dim);
    require_memory((slot + ends_of_pages) * slots_ + own, caches);

    if (kernel_.open != nullptr) state_ = kernel_.open(c.threads);
    if (s.page > 0) {
      table_ = Buffer<std::int32_t>(s.batch * pool_.sequence_pages, 1,
                                    [](std::int64_t i) { return static_cast<std::int32_t>(i); });
      for (std::int64_t i = table_.size() - 1; i > 0; --i)
        std::swap(table_[i], table_[hash(7, i) % (i + 1)]);
    }
    const float root3 = std::sqrt(3.0f);
    const std::int64_t outputs = s.batch * s.heads * s.head_dim;
    q_ = Buffer<float>(outputs, c.threads,
                       [&](std::int64_t i) { return 2 * root3 * random_value<float>(1, i); });
    out_ = Buffer<float>(outputs, c.threads, [](std::int64_t) { return 0.0f; });
    scratch_ = Buffer<float>(scratch_floats(s, c.threads, whole_pages_), c.threads,
                             [](std::int64_t) { return 0.0f; });
    cache_ = shared(live_, c.name() + "/slots:" + std::to_string(slots_), [&] {
      cache_ = std::make_shared<Cache>();
      cache_->slots.resize(slots_);
      for (auto& slot : cache_->slots) fill(slot, pool_.rows(s), root3);
      return cache_;
    });
  }

  void run(std::int64_t first, std::int64_t count) override {
    for (std::int64_t i = first; i < first + count; ++i) function_(args(i % slots_));
  }

  std::string verify() override {
    const Shape& s = shape_;
    std::fill_n(out_.data(), out_.size(), std::numeric_limits<float>::quiet_NaN());
    std::fill_n(scratch_.data(), scratch_.size(), std::numeric_limits<float>::quiet_NaN());
    run(slots_ - 1, 1);
    const std::int64_t all = s.batch * s.heads;
    const double work = 2.0 * all * s.context * s.head_dim;
    const std::int64_t step = static_cast<std::int64_t>(std::ceil(work / kFullOracle));
    const Args<T> last = args(slots_ - 1);
    const Rounding rounding = rounding_of<T>(kernel_);
    std::string wrong;
#pragma omp parallel for num_threads(case_.threads) schedule(dynamic)
    for (std::int64_t i = 0; i <= (all - 1) / step + 1; ++i) {
      const std::int64_t head = std::min(i * step, all - 1);
      std::string found = check_head(last, rounding, head);
#pragma omp critical
      if (!found.empty()) wrong = "attention " + case_.name() + ": " + found;
    }
    return wrong;
  }

  Cost cost() const override { return attention::cost(shape_, sizeof(T), kScaled<T> ? 4 : 0); }

  LevelBytes traffic() const override {
    const int scale_bytes = kScaled<T> ? 4 : 0;
    return crossed(
        attention::traffic(shape_, sizeof(T), scale_bytes, kernel_, case_.threads, caches_),
        working_set_bytes() / case_.threads, working_set_bytes(), caches_);
  }

  double working_set_bytes() const override { return cost().bytes * slots_; }
  double shared_bytes() const override {
    return cache_bytes(shape_, sizeof(T), kScaled<T> ? 4 : 0) * static_cast<double>(slots_);
  }

  double read_own_memory(int loop, std::int64_t next) override {
    if (!case_.cold()) return 0;
    return stream::read_ring(loop, case_.threads, next, slots_, [&](std::int64_t slot) {
      const Slot& cache = cache_->slots[slot];
      return std::vector{stream::region_of(cache.k), stream::region_of(cache.v)};
    });
  }

  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, kScaled<T> ? kernel_.s8_roof : kernel_.roof};
  }

  std::string label() const override { return kernel_.label != nullptr ? kernel_.label() : ""; }

 private:
  struct Slot {
    Buffer<T> k, v;
    Buffer<float> k_scale, v_scale;
  };
  /// Shared by the variants that are bound to one case after another, as filling hundreds of
  /// megabytes takes longer than timing them.
  struct Cache {
    std::vector<Slot> slots;
  };
  static inline Live<Cache> live_;

  /// Every slot holds the same values: it is other memory, which is what a cold run needs.
  void fill(Slot& to, std::int64_t rows, float root3) {
    const auto value = [&](std::uint64_t seed, float amplitude) {
      return [=](std::int64_t i) {
        if constexpr (kScaled<T>)
          return random_value<T>(seed, i);
        else
          return static_cast<T>(amplitude * random_value<float>(seed, i));
      };
    };
    const int threads = case_.threads;
    const std::int64_t n = rows * shape_.head_dim;
    if (&to == &cache_->slots.front()) {
      to.k = Buffer<T>(n, threads, value(2, root3));
      to.v = Buffer<T>(n, threads, value(3, 1.0f));
    } else {
      const Slot& first = cache_->slots.front();
      const T *k = first.k.data(), *v = first.v.data();
      to.k = Buffer<T>(n, threads, [=](std::int64_t i) { return k[i]; });
      to.v = Buffer<T>(n, threads, [=](std::int64_t i) { return v[i]; });
    }
    if constexpr (kScaled<T>) {
      const auto scale = [](std::uint64_t seed, float amplitude) {
        return [=](std::int64_t i) {
          return amplitude / 127 * (1.0f + 0.5f * random_value<float>(seed, i));
        };
      };
      to.k_scale = Buffer<float>(rows, threads, scale(4, root3));
      to.v_scale = Buffer<float>(rows, threads, scale(5, 1.0f));
    }
    if (&to == &cache_->slots.front()) place_marks(to);
  }

  void place_marks(Slot& cache) {
    const Shape& s = shape_;
    const Args<T> first = args(0);
    const std::int64_t group = s.heads / s.kv_heads;
    // A key along q of length f |q| scores f |q|^2 / sqrt(head_dim), with |q|^2 = 4 head_dim.
    const double wanted = std::log(static_cast<double>(s.context)) - 1;
    const float along = static_cast<float>(wanted / (4 * std::sqrt(double(s.head_dim))));
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (std::int64_t t = 0; t < s.context; ++t) {
          if (!is_mark(t, s.context)) continue;
          const std::int64_t row = row_of_token(first, b, h, t);
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            float x = 0;
            for (std::int64_t g = 0; g < group; ++g)
              x += along * q_[((b * s.kv_heads + h) * group + g) * s.head_dim + d];
            if constexpr (kScaled<T>)
              cache.k[row * s.head_dim + d] =
                  static_cast<T>(std::clamp(std::round(x / cache.k_scale[row]), -127.0f, 127.0f));
            else
              cache.k[row * s.head_dim + d] = static_cast<T>(x);
          }
        }
  }

  Args<T> args(std::int64_t slot) {
    const Slot& cache = cache_->slots[slot];
    const Shape& s = shape_;
    return {.batch = s.batch,
            .context = s.context,
            .heads = s.heads,
            .kv_heads = s.kv_heads,
            .head_dim = s.head_dim,
            .page_tokens = pool_.page_tokens,
            .sequence_pages = pool_.sequence_pages,
            .table = table_.data(),
            .q = q_.data(),
            .k = cache.k.data(),
            .v = cache.v.data(),
            .k_scale = cache.k_scale.data(),
            .v_scale = cache.v_scale.data(),
            .out = out_.data(),
            .chunk_tokens = chunk_tokens(s, case_.threads, whole_pages_),
            .scratch = scratch_.data(),
            .shares = shares_.data(),
            .threads = case_.threads,
            .reading = reading_of(caches_),
            .whole_pages = whole_pages_,
            .state = state_.get()};
  }

  const Kernel& kernel_;
  Function function_;
  Case case_;
  Caches caches_;
  Shape shape_;
  bool whole_pages_;
  Pool pool_;
  std::int64_t slots_ = 1;
  Buffer<std::int32_t> table_;
  Buffer<float> q_, out_, scratch_;
  std::vector<Share> shares_;
  std::shared_ptr<Cache> cache_;
  std::shared_ptr<void> state_;
};

/// Calls `with(kernel, function)` for the variant's function of that dtype.
template <class With>
auto dispatch(const KernelInfo& info, const Case& c, With with) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  if (c.dtype == "f32") return with(kernel, kernel.f32);
  if (c.dtype == "bf16") return with(kernel, kernel.bf16);
  if (c.dtype == "s8") return with(kernel, kernel.s8);
  throw BadInput("attention: dtype '" + c.dtype + "' (known: f32, bf16, s8)");
}

bool supports(const KernelInfo& info, const Case& c) {
  if (info.threads == Threads::one && c.threads > 1) return false;
  const Shape s = shape_of(c);
  if (s.ragged) return false;
  return dispatch(info, c, [&](const Kernel& kernel, auto function) {
    return function != nullptr &&
           (kernel.max_group == 0 || s.heads / s.kv_heads <= kernel.max_group) &&
           (kernel.any_head_dim || s.head_dim == 64 || s.head_dim == 128) &&
           (kernel.offers == nullptr || kernel.offers(c.dtype, s)) &&
           (!kernel.naive || cost(s, 0, 0).flops <= kNaiveFlops);
  });
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  const auto make = [&]<class T>(const Kernel& kernel,
                                 void (*function)(const Args<T>&)) -> std::unique_ptr<Problem> {
    return std::make_unique<Attention<T>>(kernel, function, c, caches);
  };
  return dispatch(info, c, make);
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind, unfit};

}  // namespace kernels::attention
