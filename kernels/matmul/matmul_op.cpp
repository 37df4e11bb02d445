// matmul as an operation: inputs, problem, dispatch by dtype. Its cases are in matmul_cases.cpp,
// its oracle in matmul_verify.hpp.
#include <cmath>
#include <cstring>
#include <mutex>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/live.hpp"
#include "kernels/matmul/matmul_cases.hpp"
#include "kernels/matmul/matmul_verify.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/own_memory.hpp"

namespace kernels::matmul {
namespace {

struct Request {
  Shape shape;
  bool packed, cold;
  Data data;
};

Request parse(const Case& c) {
  for (const auto& [key, value] : c.keys) {
    // Clang 14 cannot capture a structured binding.
    const auto one_of = [&key = key, &value = value](std::initializer_list<const char*> known) {
      for (const char* k : known)
        if (value == k) return;
      throw BadInput("shape: " + key + ":" + value + " is not known to matmul");
    };
    if (key == "temp")
      one_of({"warm", "cold"});
    else if (key == "pack")
      one_of({"pre"});
    else if (key == "data")
      one_of({"integers"});
    else if (key != "M" && key != "N" && key != "K" && key != "batch")
      throw BadInput("shape: matmul has no key '" + key +
                     "' (M, N, K, batch, pack:pre, temp:warm, temp:cold)");
  }
  const Request r = {{.m = c.size("M"),
                      .n = c.size("N"),
                      .k = c.size("K"),
                      .batch = c.text("batch").empty() ? 1 : c.size("batch")},
                     !c.text("pack").empty(),
                     c.cold(),
                     c.text("data") == "integers" ? Data::kIntegers : Data::kReal};
  const std::int64_t most = c.dtype == "s8" ? kMaxKS8 : c.dtype == "u8xs8" ? kMaxKU8 : r.shape.k;
  if (r.shape.k > most)
    throw BadInput("shape: K:" + std::to_string(r.shape.k) + " could overflow the 32-bit sums of " +
                   c.dtype + " (at most " + std::to_string(most) + ")");
  return r;
}

template <class X, class Y, class Z>
constexpr ElementBytes element_bytes() {
  constexpr bool quantised = std::is_same_v<Y, std::int8_t> && std::is_floating_point_v<Z>;
  return {sizeof(X), sizeof(Y), sizeof(Z), quantised ? int{sizeof(float)} : 0};
}

/// Cold weights rotate over at least 1 GiB where memory allows it.
std::int64_t cold_weights(const Caches& caches) {
  return std::max(cold_footprint(caches), std::min(std::int64_t{1} << 30, caches.memory / 10));
}

/// Inputs of one case, shared by all variants that are bound to it at the same time.
template <class X, class Y, class Z>
struct Inputs {
  Inputs(const Request& r, std::int64_t slots, int threads) {
    const Shape& s = r.shape;
    const Data data = r.data;
    x = Buffer<X>(s.batch * s.m * s.k, threads,
                  [=](std::int64_t i) { return input_value<X, Z>(data, 1, i); });
    y.emplace_back(s.batch * s.k * s.n, threads,
                   [=](std::int64_t i) { return input_value<Y, Z>(data, 2, i); });
    for (std::int64_t i = 1; i < slots; ++i)
      y.emplace_back(y[0].size(), threads, [p = y[0].data()](std::int64_t j) { return p[j]; });
    if (element_bytes<X, Y, Z>().scale > 0)
      scales = Buffer<float>(s.batch * s.n, threads,
                             [=](std::int64_t i) { return scale_value(data, i); });
  }
  Buffer<X> x;
  std::vector<Buffer<Y>> y;  ///< equal copies at different places
  Buffer<float> scales;
};

template <class X, class Y, class Z>
std::shared_ptr<Inputs<X, Y, Z>> shared_inputs(const Case& c, const Request& r,
                                               std::int64_t slots) {
  static std::mutex mutex;
  static Live<Inputs<X, Y, Z>> live;
  const std::lock_guard lock(mutex);
  return shared(live, c.name() + "/slots:" + std::to_string(slots),
                [&] { return std::make_shared<Inputs<X, Y, Z>>(r, slots, c.threads); });
}

template <class X, class Y, class Z>
class Matmul final : public Problem {
 public:
  Matmul(const Kernel& kernel, const Routine<X, Y, Z>& routine, const char* roof, const Case& c,
         const Caches& caches)
      : kernel_(kernel), routine_(routine), roof_(roof), case_(c), r_(parse(c)) {
    const Shape& s = r_.shape;
    plan_ = {.shape = {s.m, s.n, s.k}, .threads = c.threads, .caches = caches};
    once_ = matmul::cost(s, kElement).bytes;
    require_memory(once_, caches);
    const double workspace =
        routine.workspace_bytes != nullptr ? routine.workspace_bytes(plan_) : 0.0;
    const double weights =
        r_.packed ? routine.packed_bytes(plan_) : 1.0 * kElement.y * s.batch * s.k * s.n;
    if (r_.cold) slots_ = static_cast<std::int64_t>(cold_weights(caches) / weights) + 1;
    working_set_ = once_ + (slots_ - 1) * weights;
    owned_ = working_set_ + workspace + (r_.packed ? weights : 0);
    require_memory(owned_ + (slots_ - 1) * (held_bytes(weights) - weights), caches);

    inputs_ = shared_inputs<X, Y, Z>(c, r_, r_.packed ? 1 : slots_);
    // Past the end of Z lies a guard that a kernel must not touch.
    z_ = Buffer<Z>(s.batch * s.m * s.n + kGuard, c.threads, [](std::int64_t) { return kPoison; });
    if (workspace > 0) {
      workspace_ = Buffer<std::byte>(static_cast<std::int64_t>(workspace), c.threads,
                                     [](std::int64_t) { return std::byte{0}; });
      plan_.workspace = workspace_.data();
    }
    if (routine.open != nullptr) {
      state_ = routine.open(plan_, r_.packed);
      plan_.state = state_.get();
    }
    if (r_.packed) {
      const auto bytes = static_cast<std::int64_t>(weights);
      packed_.emplace_back(bytes, c.threads, [](std::int64_t) { return std::byte{0}; });
      routine.pack(plan_, inputs_->y[0].data(), scales(0), packed_[0].data());
      for (std::int64_t i = 1; i < slots_; ++i)
        packed_.emplace_back(bytes, c.threads,
                             [p = packed_[0].data()](std::int64_t j) { return p[j]; });
    }
  }

  void run(std::int64_t first, std::int64_t count) override {
    for (std::int64_t i = first; i < first + count; ++i) call(i % slots_);
  }

  std::string verify() override {
    std::fill(z_.data(), z_.data() + z_.size(), kPoison);
    call(slots_ - 1);
    const Shape& s = r_.shape;
    for (std::int64_t i = 0; i < kGuard; ++i)
      if (std::memcmp(&z_[s.batch * s.m * s.n + i], &kPoison, sizeof(Z)) != 0)
        return "matmul " + case_.name() + ": wrote past the end of Z";
    const Oracle<X, Y, Z> oracle(plan_.shape, r_.data, tiles(), case_.threads);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const std::string wrong = oracle.check(x(b), y(0, b), scales(b), z(b));
      if (!wrong.empty())
        return "matmul " + case_.name() + (s.batch > 1 ? " batch " + std::to_string(b) : "") +
               ": " + wrong;
    }
    return {};
  }

  Cost cost() const override { return matmul::cost(r_.shape, kElement); }

  LevelBytes traffic() const override {
    const LevelBytes all = tile_traffic(r_.shape, kElement, tiles());
    const auto by = [&](double set) {
      return crossed(all, set / case_.threads, set, plan_.caches);
    };
    LevelBytes out = by(working_set_);
    // Y takes turns with its copies; X and Z are the same in every call, and wait in the caches
    // for the next one where these hold all that one call touches.
    if (slots_ > 1 && !std::isnan(out.dram) && std::isnan(by(once_).dram))
      out.dram = matmul::cost(r_.shape, {0, kElement.y, 0, kElement.scale}).bytes;
    return out;
  }

  double working_set_bytes() const override { return working_set_; }
  double owned_bytes() const override { return owned_; }
  double shared_bytes() const override {
    const Shape& s = r_.shape;
    return 1.0 * s.batch * s.k * (kElement.x * s.m + kElement.y * s.n * (r_.packed ? 1 : slots_));
  }

  double read_own_memory(int loop, std::int64_t next) override {
    if (!r_.cold) return 0;
    return stream::read_ring(loop, case_.threads, next, slots_, [&](std::int64_t slot) {
      return std::vector{r_.packed ? stream::region_of(packed_[slot])
                                   : stream::region_of(inputs_->y[slot])};
    });
  }

  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, roof_};
  }

  std::string label() const override { return kernel_.label != nullptr ? kernel_.label() : ""; }

 private:
  static constexpr ElementBytes kElement = element_bytes<X, Y, Z>();
  static constexpr std::int64_t kGuard = 64;
  static constexpr Z kPoison = std::numeric_limits<Z>::has_quiet_NaN
                                   ? std::numeric_limits<Z>::quiet_NaN()
                                   : std::numeric_limits<Z>::min();

  const X* x(std::int64_t b) const { return inputs_->x.data() + b * r_.shape.m * r_.shape.k; }
  const Y* y(std::int64_t slot, std::int64_t b) const {
    return inputs_->y[slot].data() + b * r_.shape.k * r_.shape.n;
  }
  const float* scales(std::int64_t b) const {
    return kElement.scale > 0 ? inputs_->scales.data() + b * r_.shape.n : nullptr;
  }
  Z* z(std::int64_t b) const { return z_.data() + b * r_.shape.m * r_.shape.n; }
  Tiles tiles() const {
    return routine_.tiles != nullptr ? routine_.tiles(plan_, r_.packed) : Tiles{};
  }

  void call(std::int64_t slot) {
    if (r_.packed)
      routine_.run_packed(plan_, x(0), packed_[slot].data(), scales(0), z(0));
    else
      for (std::int64_t b = 0; b < r_.shape.batch; ++b)
        routine_.run(plan_, x(b), y(slot, b), scales(b), z(b));
  }

  const Kernel& kernel_;
  const Routine<X, Y, Z>& routine_;
  const char* roof_;
  Case case_;
  Request r_;
  Plan plan_;
  std::int64_t slots_ = 1;
  double once_ = 0, working_set_ = 0;  ///< bytes of one call, and with all copies of Y
  double owned_ = 0;                   ///< the same with workspace, and Y beside what is packed
  std::shared_ptr<Inputs<X, Y, Z>> inputs_;
  std::vector<Buffer<std::byte>> packed_;
  Buffer<Z> z_;
  Buffer<std::byte> workspace_;
  std::shared_ptr<void> state_;
};

/// Calls `with(kernel, routine, roof dtype)` for the case's dtype; each has its own types.
template <class With>
auto dispatch(const KernelInfo& info, const Case& c, With with) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  if (c.dtype == "f64") return with(kernel, kernel.f64, "f64");
  if (c.dtype == "f32") return with(kernel, kernel.f32, "f32");
  if (c.dtype == "bf16") return with(kernel, kernel.bf16_f32, kernel.bf16_roof);
  if (c.dtype == "s8") return with(kernel, kernel.s8_s32, "s8");
  if (c.dtype == "u8xs8") return with(kernel, kernel.u8_s8, "s8");
  if (c.dtype == "bf16xs8") return with(kernel, kernel.bf16_s8, kernel.bf16_s8_roof);
  throw BadInput("matmul: dtype '" + c.dtype + "' (known: f64, f32, bf16, s8, u8xs8, bf16xs8)");
}

bool supports(const KernelInfo& info, const Case& c) {
  const Request r = parse(c);
  return dispatch(info, c, [&](const Kernel& kernel, const auto& routine, const char*) {
    if (info.threads == Threads::one && c.threads > 1) return false;
    if (kernel.offers != nullptr && !kernel.offers(c.dtype, r.shape, c.threads)) return false;
    if (kernel.max_m > 0 && r.shape.m > kernel.max_m) return false;
    if (kernel.max_k > 0 && r.shape.k > kernel.max_k) return false;
    if (kernel.max_y > 0 && r.shape.k * r.shape.n > kernel.max_y) return false;
    if (kernel.max_flops > 0 && cost(r.shape, {}).flops > kernel.max_flops) return false;
    return r.packed ? routine.run_packed != nullptr && r.shape.batch == 1 : routine.run != nullptr;
  });
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  const auto make = [&]<class X, class Y, class Z>(const Kernel& kernel,
                                                   const Routine<X, Y, Z>& routine,
                                                   const char* roof) -> std::unique_ptr<Problem> {
    return std::make_unique<Matmul<X, Y, Z>>(kernel, routine, roof, c, caches);
  };
  return dispatch(info, c, make);
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind, unfit};

}  // namespace kernels::matmul
