// Decode attention as an operation: its cases, its inputs, its oracle.
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <sstream>
#include <vector>

#include "kernels/attention/attention_cases.hpp"
#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::attention {
namespace {

/// Above this many multiply-adds the oracle takes a sample of the heads.
constexpr double kFullOracle = 2e9;
/// The scalar rungs take part up to this many operations a call, a few tenths of a second.
constexpr double kNaiveFlops = 5e8;

constexpr double kEps = 0x1p-24;  ///< half a unit in the last place of fp32
/// Rounding errors of n steps taken as a random walk, three deviations wide.
double walk(std::int64_t n) { return 3 * std::sqrt(static_cast<double>(n)); }

constexpr double square(double x) { return x * x; }
/// How much further than deviations() an output may be. Over all test cases and contexts of up to
/// 32768, vdpbf16ps reaches 2.9 and the int8 variants 2.3.
constexpr double kDeviations = 6;

template <class T>
constexpr bool kScaled = std::is_same_v<T, std::int8_t>;

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
        shares_(c.threads) {
    const Shape& s = shape_;
    const double bytes = cost().bytes;
    slots_ = c.cold() ? static_cast<std::int64_t>(cold_footprint(caches) / bytes) + 1 : 1;
    page_tokens_ = s.page > 0 ? s.page : s.context;
    sequence_pages_ = (s.context + page_tokens_ - 1) / page_tokens_;
    const double slot = bytes * page_tokens_ * sequence_pages_ / s.context;
    const double ends_of_pages = 4096 * (kScaled<T> ? 4 : 2);  // of K, V and their scales
    require_memory((slot + ends_of_pages) * slots_, caches);

    if (s.page > 0) {
      table_ = Buffer<std::int32_t>(s.batch * sequence_pages_, 1,
                                    [](std::int64_t i) { return static_cast<std::int32_t>(i); });
      for (std::int64_t i = table_.size() - 1; i > 0; --i)
        std::swap(table_[i], table_[hash(7, i) % (i + 1)]);
    }
    const float root3 = std::sqrt(3.0f);
    const std::int64_t outputs = s.batch * s.heads * s.head_dim;
    q_ = Buffer<float>(outputs, c.threads,
                       [&](std::int64_t i) { return 2 * root3 * random_value<float>(1, i); });
    out_ = Buffer<float>(outputs, c.threads, [](std::int64_t) { return 0.0f; });
    scratch_ =
        Buffer<float>(scratch_floats(s, c.threads), c.threads, [](std::int64_t) { return 0.0f; });
    const std::int64_t rows = s.batch * sequence_pages_ * s.kv_heads * page_tokens_;
    cache_ = last_.lock();
    if (cache_ == nullptr || cache_->made_for != made_for()) {
      cache_ = std::make_shared<Cache>(Cache{.made_for = made_for(), .slots = {}});
      cache_->slots.resize(slots_);
      for (auto& slot : cache_->slots) fill(slot, rows, root3);
      last_ = cache_;
    }
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
    std::string wrong;
#pragma omp parallel for num_threads(case_.threads) schedule(dynamic)
    for (std::int64_t i = 0; i <= (all - 1) / step + 1; ++i) {
      const std::int64_t head = std::min(i * step, all - 1);
      std::string found = check_head(head);
#pragma omp critical
      if (!found.empty()) wrong = std::move(found);
    }
    return wrong;
  }

  Cost cost() const override { return attention::cost(shape_, sizeof(T), kScaled<T> ? 4 : 0); }

  LevelBytes traffic() const override {
    const int scale_bytes = kScaled<T> ? 4 : 0;
    return crossed(
        attention::traffic(shape_, sizeof(T), scale_bytes, kernel_.by_head, case_.threads, caches_),
        working_set_bytes() / case_.threads, working_set_bytes(), caches_);
  }

  double working_set_bytes() const override { return cost().bytes * slots_; }

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

 private:
  struct Slot {
    Buffer<T> k, v;
    Buffer<float> k_scale, v_scale;
  };
  /// Shared by the variants that are bound to one case after another, as filling hundreds of
  /// megabytes takes longer than timing them.
  struct Cache {
    std::string made_for;
    std::vector<Slot> slots;
  };
  static inline std::weak_ptr<Cache> last_;

  std::string made_for() const { return case_.name() + "/" + std::to_string(slots_); }

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

  bool is_mark(std::int64_t t) const {
    return t == 0 || t == kPage - 1 || t == kPage || t == shape_.context - 1;
  }
  void place_marks(Slot& cache) {
    const Shape& s = shape_;
    const std::int64_t group = s.heads / s.kv_heads;
    // A key along q of length f |q| scores f |q|^2 / sqrt(head_dim), with |q|^2 = 4 head_dim.
    const double wanted = std::log(static_cast<double>(s.context)) - 1;
    const float along = static_cast<float>(wanted / (4 * std::sqrt(double(s.head_dim))));
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.kv_heads; ++h)
        for (std::int64_t t = 0; t < s.context; ++t) {
          if (!is_mark(t)) continue;
          const std::int64_t row = row_of(b, h, t);
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

  std::int64_t row_of(std::int64_t b, std::int64_t kv_head, std::int64_t token) const {
    std::int64_t page = b * sequence_pages_ + token / page_tokens_;
    if (shape_.page > 0) page = table_[page];
    return (page * shape_.kv_heads + kv_head) * page_tokens_ + token % page_tokens_;
  }

  Args<T> args(std::int64_t slot) {
    const Slot& cache = cache_->slots[slot];
    const Shape& s = shape_;
    return {.batch = s.batch,
            .context = s.context,
            .heads = s.heads,
            .kv_heads = s.kv_heads,
            .head_dim = s.head_dim,
            .page_tokens = page_tokens_,
            .sequence_pages = sequence_pages_,
            .table = table_.data(),
            .q = q_.data(),
            .k = cache.k.data(),
            .v = cache.v.data(),
            .k_scale = cache.k_scale.data(),
            .v_scale = cache.v_scale.data(),
            .out = out_.data(),
            .chunk_tokens = chunk_tokens(s, case_.threads),
            .scratch = scratch_.data(),
            .shares = shares_.data(),
            .threads = case_.threads,
            .reading = reading_of(caches_)};
  }

  /// One head in double. Empty when right.
  std::string check_head(std::int64_t head) const {
    const Shape& s = shape_;
    const Slot& cache = cache_->slots.back();
    const std::int64_t b = head / s.heads, kv_head = head % s.heads / (s.heads / s.kv_heads);
    const float* q = q_.data() + head * s.head_dim;
    const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    std::vector<double> p(s.context), score_deviation(s.context);
    double q_max = 0, v_max = 0;
    for (std::int64_t d = 0; d < s.head_dim; ++d) q_max = std::max<double>(q_max, std::abs(q[d]));
    double max = -std::numeric_limits<double>::infinity(), score_error = 0;
    for (std::int64_t t = 0; t < s.context; ++t) {
      const std::int64_t row = row_of(b, kv_head, t);
      const T* k = cache.k.data() + row * s.head_dim;
      double dot = 0, magnitude = 0, squares = 0, term_squares = 0;
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        const double term = static_cast<double>(q[d]) * static_cast<double>(k[d]);
        dot += term;
        magnitude += std::abs(term);
        term_squares += term * term;
        squares += static_cast<double>(k[d]) * static_cast<double>(k[d]);
      }
      const double factor = kScaled<T> ? scale * cache.k_scale[row] : scale;
      p[t] = dot * factor;
      max = std::max(max, p[t]);
      score_error = std::max(score_error, kEps * (walk(s.head_dim) + 4) * magnitude * factor);
      score_deviation[t] = factor * std::sqrt(square(rounding().query * q_max) * squares +
                                              square(rounding().each) * term_squares);
    }
    double sum = 0, lost = 0;
    for (double& x : p) sum += x = std::exp(x - max);
    // Beside one large weight, small ones are rounded as they are added, all of a size in the same
    // direction: no random walk. In fp32, 32k of them can lose a thousandth of the sum.
    for (const double x : p)
      if (x < 16 * kEps * sum) lost += std::min(x / sum, kEps);
    for (double& x : p) x /= sum;
    std::vector<double> out(s.head_dim), magnitude(s.head_dim);
    for (std::int64_t t = 0; t < s.context; ++t) {
      const std::int64_t row = row_of(b, kv_head, t);
      const T* v = cache.v.data() + row * s.head_dim;
      const double unit = kScaled<T> ? cache.v_scale[row] : 1.0f;
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        const double value = unit * static_cast<double>(v[d]);
        out[d] += p[t] * value;
        magnitude[d] += p[t] * std::abs(value);
        v_max = std::max(v_max, std::abs(value));
      }
    }
    // A score's error moves its weight by as much, numerator and denominator alike; so does the
    // exponential's; and both sums run over the context.
    const double relative = 2 * (score_error + kExpError) + 2 * (walk(s.context) + 4) * kEps;
    const std::vector<double> deviation = rounding().any()
                                              ? deviations(b, kv_head, p, score_deviation, out)
                                              : std::vector<double>(s.head_dim);
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const float got = out_[head * s.head_dim + d];
      const double allowed =
          relative * magnitude[d] + 2 * lost * v_max + kDeviations * deviation[d];
      if (std::abs(got - out[d]) <= allowed) continue;
      std::ostringstream text;
      text << "attention " << case_.name() << ": out[" << b << "][" << head % s.heads << "][" << d
           << "] is " << got << ", the oracle says " << out[d];
      return text.str();
    }
    return {};
  }

  /// What the variant rounds beyond fp32 of its queries and weights.
  struct Rounding {
    double query = 0, weight = 0;  ///< as a share of the largest
    double each = 0;               ///< of every one's own size
    bool any() const { return query > 0 || weight > 0 || each > 0; }
  };
  Rounding rounding() const {
    if constexpr (kScaled<T>)
      return {.query = kernel_.s8_rounding, .weight = kernel_.s8_weight_rounding};
    else
      return {.each = std::is_same_v<T, bf16> ? kernel_.bf16_rounding : 0};
  }

  /// How far rounded queries and weights put each output off, every one of them by as much as it
  /// may be, with a random sign. A score's error moves the output by weight x (value - output). It
  /// is the query's error along the key, so errors of different keys add up like steps of a random
  /// walk, and those of the marks, whose keys are one, as they are. A rounded weight is off by
  /// itself. With a common unit for a block of at most 64 tokens, all of these are off by as much
  /// as the largest may be, whose weight is nowhere else the largest: the squares of the blocks'
  /// largest add up to no more than those of all weights.
  std::vector<double> deviations(std::int64_t b, std::int64_t kv_head, const std::vector<double>& p,
                                 const std::vector<double>& score_deviation,
                                 const std::vector<double>& out) const {
    const Shape& s = shape_;
    const Slot& cache = cache_->slots.back();
    std::vector<double> squares(s.head_dim), of_marks(s.head_dim);
    double weight_squares = 0, integer_squares = 0, largest_unit = 0;
    for (std::int64_t t = 0; t < s.context; ++t) {
      const std::int64_t row = row_of(b, kv_head, t);
      const T* v = cache.v.data() + row * s.head_dim;
      const double unit = kScaled<T> ? cache.v_scale[row] : 1.0f;
      const double by_score = p[t] * score_deviation[t], by_weight = p[t] * rounding().each;
      const bool mark = is_mark(t);
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
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
        integer_squares / static_cast<double>(s.context * s.head_dim) * square(largest_unit);
    const double of_blocks = square(rounding().weight) * of_integers * weight_squares *
                             static_cast<double>(std::min<std::int64_t>(64, s.context));
    std::vector<double> all(s.head_dim);
    for (std::int64_t d = 0; d < s.head_dim; ++d)
      all[d] = std::sqrt(squares[d] + square(of_marks[d]) + of_blocks);
    return all;
  }

  const Kernel& kernel_;
  Function function_;
  Case case_;
  Caches caches_;
  Shape shape_;
  std::int64_t slots_ = 1, page_tokens_ = 0, sequence_pages_ = 0;
  Buffer<std::int32_t> table_;
  Buffer<float> q_, out_, scratch_;
  std::vector<Share> shares_;
  std::shared_ptr<Cache> cache_;
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

struct Type {
  const char* name;
  int bytes, scale_bytes;
};
constexpr std::array<Type, 3> kTypes = {{{"f32", 4, 0}, {"bf16", 2, 0}, {"s8", 1, 4}}};

double bytes_of(const Case& c) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const Type& known) { return c.dtype == known.name; });
  return cost(shape_of(c), type->bytes, type->scale_bytes).bytes;
}

/// Of a case that cases() lists.
std::string unfit(const KernelInfo&, const Case& c, const Caches& caches) {
  const bool fits = caches.memory == 0 || bytes_of(c) <= 0.35 * static_cast<double>(caches.memory);
  return fits ? std::string() : too_large_for(caches);
}

std::vector<Case> cases(const Caches& caches) {
  std::vector<Case> all;
  // A cache larger than this says nothing that a smaller one does not, and takes long to fill.
  constexpr double limit = 4.5e9;
  const auto add = [&](const Type& type, const Shape& s, const char* temp, int threads,
                       bool quick = false) {
    if (cost(s, type.bytes, type.scale_bytes).bytes > limit) return;
    Case c = make_case(type.name, s, temp, threads);
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Case& other) { return other.name() == c.name(); });
    if (at == all.end()) {
      c.quick = quick;
      all.push_back(c);
    }
  };
  const int cores = caches.cores;
  const Shape gqa{.batch = 1, .context = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto with = [](Shape s, std::int64_t batch, std::int64_t context, std::int64_t heads,
                       std::int64_t kv_heads, std::int64_t page) {
    s.batch = batch, s.context = context, s.heads = heads, s.kv_heads = kv_heads, s.page = page;
    return s;
  };

  for (const auto& type : kTypes) add(type, gqa, "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 8192, 32, 32, 0), "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 8192, 32, 8, kPage), "cold", cores, true);
  add(kTypes[1], with(gqa, 1, 512, 32, 8, 0), "warm", cores, true);
  add(kTypes[1], gqa, "cold", 1, true);

  // Around 32 / 8 heads, contiguous; the other settings one at a time.
  for (const auto& type : kTypes) {
    for (const int context : {1024, 8192, 32768}) {
      for (const int batch : {1, 8})
        for (const std::int64_t page : {std::int64_t{0}, kPage})
          add(type, with(gqa, batch, context, 32, 8, page), "cold", cores);
      for (const auto& [heads, kv_heads] : {std::pair{32, 32}, {64, 8}})
        add(type, with(gqa, 1, context, heads, kv_heads, 0), "cold", cores);
    }
    add(type, with(gqa, 8, 8192, 32, 32, 0), "cold", cores);
    add(type, with(gqa, 1, 8192, 32, 32, kPage), "cold", cores);
    for (const int context : {512, 4096})
      add(type, with(gqa, 32, context, 32, 8, 0), "cold", cores);
    for (const int threads : {1, cores}) {
      for (const auto& [heads, kv_heads] : {std::pair{32, 8}, {32, 32}, {64, 8}})
        add(type, with(gqa, 1, 8192, heads, kv_heads, 0), "cold", threads);
      add(type, with(gqa, 1, 512, 32, 8, 0), "warm", threads);
      Shape narrow = with(gqa, 1, 8192, 32, 8, 0);
      narrow.head_dim = 64;
      add(type, narrow, "cold", threads);
    }
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const auto& type : kTypes) {
    const auto add = [&](const Shape& s, int threads) {
      all.push_back(make_case(type.name, s, "warm", threads));
    };
    // Lengths around tokens of a tile, a page, a block and a chunk.
    Shape s{.batch = 1, .heads = 4, .kv_heads = 1, .head_dim = 64};
    for (const int context : {1, 2, 15, 16, 17, 33, 63, 64, 65, 511, 1025, 4099}) {
      s.context = context;
      s.page = context % 2 == 0 ? 0 : kPage;
      add(s, 1);
    }
    for (const std::int64_t page : {std::int64_t{0}, kPage})
      for (const int context : {1, 511, 4099}) {
        s.context = context, s.page = page;
        add(s, 3);
      }
    // Groups that fill a register tile and groups that do not.
    for (const auto& [heads, kv_heads] :
         {std::pair{1, 1}, {2, 2}, {4, 2}, {3, 1}, {8, 2}, {6, 1}, {7, 1}, {8, 1}, {16, 2}})
      for (const int head_dim : {64, 128})
        add({.batch = 2,
             .context = 77,
             .heads = heads,
             .kv_heads = kv_heads,
             .head_dim = head_dim,
             .page = heads % 2 == 0 ? kPage : 0},
            head_dim == 64 ? 1 : 3);
    for (const int page : {1, 5, 64, 100})
      add({.batch = 2, .context = 333, .heads = 8, .kv_heads = 2, .head_dim = 128, .page = page},
          page == 5 ? 3 : 1);
    add({.batch = 1, .context = 100, .heads = 2, .kv_heads = 1, .head_dim = 20}, 1);
  }
  return all;
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind, unfit};

}  // namespace kernels::attention
