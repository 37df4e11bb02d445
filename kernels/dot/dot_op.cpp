// The dot product as an operation: its cases, its inputs, its oracle.
#include <omp.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/dot/dot.hpp"
#include "kernels/keys.hpp"
#include "kernels/live.hpp"
#include "kernels/registry.hpp"
#include "kernels/shares.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::dot {
namespace {

/// Inputs of one case, shared by all variants that are bound to it at the same time. Floating ones
/// are whole numbers in [-4, 4], whose sums are exact in fp32 up to 2^24 and so in every order: a
/// right kernel equals the oracle to the bit.
template <class T>
struct Inputs {
  Inputs(std::int64_t n, std::int64_t slots, int threads) {
    const auto value = [](std::uint64_t seed) {
      return [seed](std::int64_t i) {
        if constexpr (std::is_same_v<T, std::int8_t>)
          return random_value<T>(seed, i);
        else
          return random_integer<T>(seed, i, 4);
      };
    };
    x.emplace_back(n, threads, value(1));
    y.emplace_back(n, threads, value(2));
    const auto copy = [](const T* p) { return [p](std::int64_t i) { return p[i]; }; };
    for (std::int64_t i = 1; i < slots; ++i) {
      x.emplace_back(n, threads, copy(x[0].data()));
      y.emplace_back(n, threads, copy(y[0].data()));
    }
  }
  std::vector<Buffer<T>> x, y;  ///< equal copies at different places
};

template <class T>
std::shared_ptr<const Inputs<T>> shared_inputs(const Case& c, std::int64_t n, std::int64_t slots) {
  static Live<const Inputs<T>> live;
  return shared(live, c.name() + "/slots:" + std::to_string(slots),
                [&] { return std::make_shared<const Inputs<T>>(n, slots, c.threads); });
}

/// `Acc` is the result's type.
template <class T, class Acc>
class Dot final : public Problem {
 public:
  using Function = Acc (*)(const T*, const T*, std::int64_t);

  Dot(const Kernel& kernel, Function function, const Case& c, const Caches& caches)
      : kernel_(kernel),
        function_(function),
        case_(c),
        caches_(caches),
        n_(c.size("N")),
        partials_(c.threads),
        shares_(c.threads) {
    const double set = 2.0 * n_ * sizeof(T);
    slots_ = c.cold() ? static_cast<std::int64_t>(cold_footprint(caches) / set) + 1 : 1;
    require_memory(2 * held_bytes(n_ * sizeof(T)) * slots_, caches);
    inputs_ = shared_inputs<T>(c, n_, slots_);
  }

  void run(std::int64_t first, std::int64_t count) override {
    const int threads = case_.threads;
    if (kernel_.set_threads != nullptr) kernel_.set_threads(threads);
    if (threads == 1 || kernel_.set_threads != nullptr) {
      result_ = calls(first, count, {0, n_});
    } else if (case_.text("region", "call") == "shared") {
      partials(first, count);
      reduce();
    } else {
      for (std::int64_t i = first; i < first + count; ++i) {
        partials(i, 1);
        reduce();
      }
    }
  }

  std::string verify() override {
    Acc expected = 0;
    const std::int64_t last = slots_ - 1;
    if constexpr (std::is_integral_v<Acc>) {
      for (std::int64_t i = 0; i < n_; ++i) expected += Acc{x(last)[i]} * y(last)[i];
    } else {
      double sum = 0;
      for (std::int64_t i = 0; i < n_; ++i)
        sum += static_cast<double>(x(last)[i]) * static_cast<double>(y(last)[i]);
      expected = static_cast<Acc>(sum);
    }
    result_ = std::numeric_limits<Acc>::has_quiet_NaN ? std::numeric_limits<Acc>::quiet_NaN()
                                                      : std::numeric_limits<Acc>::min();
    run(last, 1);
    if (result_ == expected) return {};
    return "dot " + case_.name() + ": got " + std::to_string(result_) + ", the oracle says " +
           std::to_string(expected);
  }

  Cost cost() const override { return dot::cost(n_, sizeof(T)); }

  LevelBytes traffic() const override {
    return streaming_traffic(cost().bytes, working_set_bytes() / case_.threads, working_set_bytes(),
                             caches_);
  }

  double working_set_bytes() const override { return 2.0 * n_ * sizeof(T) * slots_; }
  double shared_bytes() const override { return working_set_bytes(); }

  double read_own_memory(int loop, std::int64_t next) override {
    if (!case_.cold()) return 0;
    return stream::read_ring(loop, case_.threads, next, slots_, [&](std::int64_t slot) {
      return std::vector{stream::region_of(inputs_->x[slot]), stream::region_of(inputs_->y[slot])};
    });
  }

  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit,
            std::is_same_v<T, bf16> ? kernel_.bf16_roof : std::string(dtype_name<T>())};
  }

  std::string label() const override { return kernel_.label != nullptr ? kernel_.label() : ""; }

 private:
  struct alignas(128) Padded {
    Acc value;
  };

  const T* x(std::int64_t slot) const { return inputs_->x[slot].data(); }
  const T* y(std::int64_t slot) const { return inputs_->y[slot].data(); }

  /// The last of `count` calls on a part. Of a product in L1 a division would be a twentieth, and
  /// so would be looking up where warm inputs lie: loads that wait for the call before.
  Acc calls(std::int64_t first, std::int64_t count, Slice part) const {
    Acc last = 0;
    std::int64_t slot = first % slots_;
    const T *xs = x(slot), *ys = y(slot);
    for (std::int64_t i = 0; i < count; ++i) {
      last = function_(xs + part.begin, ys + part.begin, part.end - part.begin);
      if (slots_ == 1) continue;
      if (++slot == slots_) slot = 0;
      xs = x(slot), ys = y(slot);
    }
    return last;
  }
  /// Of what caches hold a slice for each thread, which finds it where it left it; of what comes
  /// from memory pieces for whichever thread is free.
  void partials(std::int64_t first, std::int64_t count) {
    clear(shares_.data(), case_.threads);
#pragma omp parallel num_threads(case_.threads)
    {
      const int thread = omp_get_thread_num();
      partials_[thread].value =
          slots_ > 1 ? taken(thread, first, count) : calls(first, count, own(thread));
    }
  }
  static constexpr std::int64_t kGrain = 4096 / sizeof(T);
  Slice own(int thread) const { return slice(n_, thread, case_.threads, kGrain); }
  /// What this thread takes of the last of `count` calls.
  Acc taken(int thread, std::int64_t first, std::int64_t count) {
    constexpr std::int64_t kPiece = (512 << 10) / sizeof(T);
    static_assert(kPiece % kGrain == 0, "or the last slice may have fewer pieces than another");
    const Slice last = own(case_.threads - 1);
    const std::int64_t pieces = (last.end - last.begin + kPiece - 1) / kPiece;
    Acc sum = 0;
    take_pieces(shares_.data(), case_.threads, thread, count * pieces,
                [&](int owner, std::int64_t i) {
                  const Slice theirs = own(owner);
                  const std::int64_t begin = theirs.begin + i % pieces * kPiece,
                                     end = std::min(begin + kPiece, theirs.end);
                  if (begin >= end) return;
                  const std::int64_t slot = (first + i / pieces) % slots_;
                  const Acc part = function_(x(slot) + begin, y(slot) + begin, end - begin);
                  if (i / pieces == count - 1) sum += part;
                });
    return sum;
  }
  void reduce() {
    Acc sum = 0;
    for (int t = 0; t < case_.threads; ++t) sum += partials_[t].value;
    result_ = sum;
  }

  const Kernel& kernel_;
  Function function_;
  Case case_;
  Caches caches_;
  std::int64_t n_, slots_ = 1;
  std::shared_ptr<const Inputs<T>> inputs_;
  std::vector<Padded> partials_;  ///< one a thread, as shares_
  std::vector<Share> shares_;
  Acc result_ = 0;
};

/// Calls `with(function)` for the variant's function of that dtype; each has its own type.
template <class With>
auto dispatch(const KernelInfo& info, const Case& c, With with) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  if (c.dtype == "f64") return with(kernel, kernel.f64);
  if (c.dtype == "f32") return with(kernel, kernel.f32);
  if (c.dtype == "bf16") return with(kernel, kernel.bf16);
  if (c.dtype == "s8") return with(kernel, kernel.s8);
  throw BadInput("dot: dtype '" + c.dtype + "' (known: f64, f32, bf16, s8)");
}

bool supports(const KernelInfo& info, const Case& c) {
  require_keys(c, "dot", {"N", "temp", "region"});
  require_known_region(c);
  if (info.threads == Threads::one && c.threads > 1) return false;
  return dispatch(
      info, c,
      [&]<class T, class Acc>(const Kernel& kernel,
                              Acc (*function)(const T*, const T*, std::int64_t)) {
        if (2 * c.size("N") * std::int64_t{sizeof(T)} < kernel.least_bytes * c.threads)
          return false;
        if (kernel.set_threads != nullptr &&
            (c.text("region") == "shared" || c.size("N") > std::numeric_limits<int>::max()))
          return false;
        if (c.threads > 1 && kernel.has_threads != nullptr && !kernel.has_threads()) return false;
        return function != nullptr;
      });
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  const auto make =
      [&]<class T, class Acc>(
          const Kernel& kernel,
          Acc (*function)(const T*, const T*, std::int64_t)) -> std::unique_ptr<Problem> {
    return std::make_unique<Dot<T, Acc>>(kernel, function, c, caches);
  };
  return dispatch(info, c, make);
}

struct Type {
  const char* name;
  int bytes;
};
constexpr std::array<Type, 4> kTypes = {{{"f64", 8}, {"f32", 4}, {"bf16", 2}, {"s8", 1}}};

/// A size inside every memory level: half of L1, L2 and what is sure of L3 a core, four times L3
/// and more, 64 MB a call.
std::vector<Case> cases(const Caches& caches) {
  constexpr std::int64_t kCold = 64 << 20;
  std::vector<Case> all;
  for (const auto& type : kTypes) {
    for (const int threads : {1, caches.cores}) {
      const auto add = [&](std::int64_t set_bytes, bool cold, const char* region, bool quick) {
        const std::int64_t n = set_bytes / (2 * type.bytes) / 64 * 64;
        if (n == 0) return;
        Case c{.dtype = type.name, .keys = {{"N", std::to_string(n)}}, .threads = threads};
        if (threads > 1) c.keys.emplace_back("region", region);
        c.keys.emplace_back("temp", cold ? "cold" : "warm");
        c.quick = quick;
        all.push_back(c);
      };
      add(caches.l1d / 2 * threads, false, "shared", true);
      add(caches.l2 / 2 * threads, false, "shared", true);
      add(sure_l3(caches, threads) / 2 * threads, false, "shared", true);
      add(kCold, true, "shared", threads == caches.cores);
      if (threads > 1) {
        add(caches.l2 / 2 * threads, false, "call", false);
        add(sure_l3(caches, threads) / 2 * threads, false, "call", true);
        add(kCold, true, "call", true);
      }
      if (caches.cores == 1) break;
    }
  }
  return all;
}

std::vector<Case> test_cases() {
  std::vector<Case> all;
  for (const auto& type : kTypes)
    for (const std::int64_t n :
         {1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 1000, 4099, 100003})
      for (const int threads : {1, 3})
        for (const char* region : {"call", "shared"})
          all.push_back({.dtype = type.name,
                         .keys = {{"N", std::to_string(n)}, {"region", region}},
                         .threads = threads});
  // More than any L2 holds, where kernels ask ahead, and no multiple of a step.
  for (const auto& type : kTypes)
    all.push_back({.dtype = type.name,
                   .keys = {{"N", std::to_string((2 << 20) / type.bytes + 4099)}},
                   .threads = 1});
  return all;
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::dot
