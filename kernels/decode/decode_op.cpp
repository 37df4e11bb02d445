// A decode step as an operation: its name, its kernels, the problem. Its cases are in
// decode_cases.cpp, its memory in decode_stack.hpp, its oracle in decode_verify.hpp.
#include <stdexcept>

#include "kernels/attention/attention_verify.hpp"
#include "kernels/cost.hpp"
#include "kernels/decode/decode_cases.hpp"
#include "kernels/decode/decode_stack.hpp"
#include "kernels/decode/decode_verify.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/stream.hpp"

namespace kernels::decode {
namespace {

const KernelInfo& registered(std::string_view op, std::string_view variant) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == op && info.variant == variant && !info.gpu()) return info;
  throw std::logic_error("kernels.def: no " + std::string(op) + " " + std::string(variant));
}

/// The registered kernels of a variant for one case.
struct Choice {
  const KernelInfo *product, *attend;
};
/// A kernel's own operation says what it does.
bool does(const KernelInfo& info, const Case& c) { return operation_of(info).supports(info, c); }

/// Whether a matmul does all products of a step, on weights packed before or as they lie.
bool does_products(const KernelInfo& info, const Case& c) {
  const Shape s = shape_of(c);
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  for (const Stage stage : {kQkv, kOut, kMlpUp, kMlpDown, kHead}) {
    const matmul::Shape m = product(s, stage);
    if (m.n == 0) continue;
    Case plain{.dtype = c.dtype,
               .keys = {{"M", text(m.m)}, {"N", text(m.n)}, {"K", text(m.k)}},
               .threads = c.threads};
    Case packed = plain;
    packed.keys.emplace_back("pack", "pre");
    if (!does(info, packed) && !does(info, plain)) return false;
  }
  return true;
}

Choice choose(const Kernel& kernel, const Case& c) {
  const KernelInfo* product = &registered("matmul", kernel.matmul[0]);
  const bool can = missing(product->needs).empty() && does_products(*product, c);
  if (kernel.matmul[1] != nullptr && !can) product = &registered("matmul", kernel.matmul[1]);
  const KernelInfo* attend = &registered("attention", kernel.attention_bf16);
  if (kv_of(c) == "s8") {
    attend = &registered("attention", kernel.attention_s8[0]);
    if (kernel.attention_s8[1] != nullptr && !missing(attend->needs).empty())
      attend = &registered("attention", kernel.attention_s8[1]);
  }
  return {product, attend};
}

template <class W>
constexpr auto routine_of = [](const matmul::Kernel& kernel) {
  if constexpr (kScaled<W>)
    return &kernel.bf16_s8;
  else
    return &kernel.bf16_f32;
};

template <class W, class C>
Calls<W, C> calls_of(const Kernel& kernel, const Choice& choice) {
  const auto& product = *static_cast<const matmul::Kernel*>(choice.product->table);
  const auto& attend = *static_cast<const attention::Kernel*>(choice.attend->table);
  Calls<W, C> calls{.glue = &kernel.glue, .matmul = &product, .product = routine_of<W>(product)};
  if constexpr (kScaled<C>)
    calls.attend = attend.s8;
  else
    calls.attend = attend.bf16;
  return calls;
}

/// What the stack takes beside one matrix that is being packed; activations are small.
template <class W, class C>
double memory_bytes(const Shape& s) {
  const double b = static_cast<double>(s.batch);
  return cost(s, kElement<W, C>).bytes + cost(s, kMlpUp, kElement<W, C>).bytes / s.layers +
         b * 4 * static_cast<double>(8 * s.d_model + 3 * s.d_ff + s.vocabulary);
}

template <class W, class C>
class Decode final : public Problem {
 public:
  Decode(const Kernel& kernel, const Case& c, const Caches& caches)
      : kernel_(kernel),
        case_(c),
        caches_(caches),
        choice_(choose(kernel, c)),
        calls_(calls_of<W, C>(kernel, choice_)),
        stack_(checked(shape_of(c), caches), calls_, caches, c.threads) {
    for (int stage = 0; stage < kStages; ++stage)
      if (stage != kHead || stack_.shape().vocabulary > 0)
        stages_.push_back(static_cast<Stage>(stage));
  }

  void run(std::int64_t, std::int64_t count) override {
    std::array<std::size_t, kStages> index{};
    for (std::size_t i = 0; i < stages_.size(); ++i) index[stages_[i]] = i;
    for (std::int64_t i = 0; i < count; ++i)
      stack_.step([&](Stage stage, std::int64_t) {
        if (done_) done_(index[stage]);
      });
  }

  void watch(std::function<void(std::size_t)> done) override { done_ = std::move(done); }

  std::string verify() override {
    stack_.poison();
    std::string wrong;
    stack_.step([&](Stage stage, std::int64_t layer) {
      if (wrong.empty()) wrong = check(stage, layer);
    });
    if (wrong.empty() && cost().flops / 2 <= kWholeOracle) wrong = check_step(stack_);
    return wrong.empty() ? wrong : "decode " + case_.name() + ": " + wrong;
  }

  Cost cost() const override { return decode::cost(stack_.shape(), kElement<W, C>); }

  LevelBytes traffic() const override {
    LevelBytes sum{.l1 = 0, .l2 = 0, .l3 = 0, .dram = 0};
    for (const Stage stage : stages_) {
      const LevelBytes part = traffic(stage);
      sum.l1 += part.l1;
      if (stage == kGlue) continue;
      sum.l2 += part.l2;
      sum.l3 += part.l3;
      sum.dram += part.dram;
    }
    return sum;
  }

  /// All weights and the whole cache are read in turn, once a step.
  double working_set_bytes() const override { return cost().bytes; }

  double read_own_memory(int loop, std::int64_t) override {
    return stream::read_regions(loop, case_.threads, stack_.memory());
  }

  std::pair<std::string, std::string> exec_unit() const override {
    return {kernel_.exec_unit, product_roof()};
  }

  std::vector<Part> parts() const override {
    std::vector<Part> out;
    const auto& attend = *static_cast<const attention::Kernel*>(choice_.attend->table);
    for (const Stage stage : stages_) {
      Part part{.name = kStageNames[stage], .cost = cost(stage), .traffic = traffic(stage)};
      if (stage == kAttention) {
        part.op = "attention";
        part.variant = choice_.attend->variant;
        part.dtype = dtype_name<C>();
        part.exec_unit = {attend.exec_unit, kScaled<C> ? attend.s8_roof : attend.roof};
      } else if (stage == kGlue) {
        part.op = "glue";
        part.dtype = "f32";
        part.exec_unit = {kernel_.glue.exec_unit, "f32"};
      } else {
        part.op = "matmul";
        part.variant = choice_.product->variant;
        part.dtype = case_.dtype;
        part.exec_unit = {calls_.matmul->exec_unit, product_roof()};
      }
      out.push_back(std::move(part));
    }
    return out;
  }

 private:
  static Shape checked(const Shape& s, const Caches& caches) {
    require_memory(memory_bytes<W, C>(s), caches);
    return s;
  }

  /// A stage's work, the gates' where it is done.
  Cost cost(Stage stage) const {
    Cost work = decode::cost(stack_.shape(), stage, kElement<W, C>);
    const Cost gate = gating(stack_.shape());
    if (stack_.gates_itself() && stage == kGlue)
      work = {work.flops - gate.flops, work.bytes - gate.bytes};
    if (stack_.gates_itself() && stage == kMlpUp) work.flops += gate.flops;
    return work;
  }

  const char* product_roof() const {
    return kScaled<W> ? calls_.matmul->bf16_s8_roof : calls_.matmul->bf16_roof;
  }

  /// By level as if every stage streamed through the caches: between two runs of the same stage the
  /// whole rest of the stack passes. Glue works on what is in cache.
  LevelBytes traffic(Stage stage) const {
    const Shape& s = stack_.shape();
    const Cost work = cost(stage);
    if (stage == kGlue) return {.l1 = work.bytes};
    const double set = working_set_bytes();
    const LevelBytes crossed = streaming_traffic(1, set / case_.threads, set, caches_);
    LevelBytes each;
    if (stage == kAttention) {
      const LevelBytes layer =
          attention::traffic(stack_.attention_shape(), sizeof(C), kElement<W, C>.kv_scale,
                             attention_kernel(), case_.threads, caches_);
      const auto again = [&](double bytes) {
        return work.bytes + static_cast<double>(s.layers) * (bytes - layer.dram);
      };
      each = {again(layer.l1), again(layer.l2), again(layer.l3), work.bytes};
    } else {
      const bool gated = stage == kMlpUp && stack_.gates_itself();  // of two columns one bf16
      const int z = gated ? sizeof(bf16) / 2 : sizeof(float);
      each = matmul::tile_traffic(product(s, stage),
                                  {sizeof(bf16), sizeof(W), z, kElement<W, C>.weight_scale},
                                  stack_.tiles(stage));
      const double n = static_cast<double>(times(s, stage));
      each = {n * each.l1, n * each.l2, n * each.l3, work.bytes};
    }
    return {each.l1, each.l2 * crossed.l2, each.l3 * crossed.l3, each.dram * crossed.dram};
  }

  std::string check(Stage stage, std::int64_t layer) {
    const Shape& s = stack_.shape();
    const double rounding = kScaled<W> ? calls_.matmul->bf16_s8_rounding : 0;
    const auto product = [&](const Buffer<bf16>& in, const Buffer<float>& out) {
      return check_product<W>(s, stage, layer, in.data(), out.data(), rounding, case_.threads);
    };
    if (stage == kMlpUp && stack_.gates_itself())
      return check_gated<W>(s, layer, stack_.normed.data(), stack_.gated.data(), rounding,
                            case_.threads);
    return check_stage(stack_, stage, product, [&] { return check_attended(layer); });
  }

  std::string check_attended(std::int64_t layer) {
    const auto rounding = attention::rounding_of<C>(attention_kernel());
    const attention::Args<C> args = stack_.attention_args(layer);
    const auto heads = checked_heads(stack_.shape());
    std::string wrong;
#pragma omp parallel for num_threads(case_.threads) schedule(dynamic)
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const std::string found = attention::check_head(args, rounding, heads[i]);
#pragma omp critical(decode_oracle)
      if (!found.empty()) wrong = "attention of layer " + std::to_string(layer) + ": " + found;
    }
    return wrong;
  }

  const attention::Kernel& attention_kernel() const {
    return *static_cast<const attention::Kernel*>(choice_.attend->table);
  }

  const Kernel& kernel_;
  Case case_;
  Caches caches_;
  Choice choice_;
  Calls<W, C> calls_;
  Stack<W, C> stack_;
  std::vector<Stage> stages_;  ///< the parts, in the order of parts()
  std::function<void(std::size_t)> done_;
};

bool supports(const KernelInfo& info, const Case& c) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  const Shape s = shape_of(c);
  const Choice choice = choose(kernel, c);
  const double flops =
      dispatch(c, [&]<class W, class C>() { return cost(s, kElement<W, C>).flops; });
  if (kernel.max_flops > 0 && flops > kernel.max_flops) return false;
  if (!does_products(*choice.product, c)) return false;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return does(*choice.attend, {.dtype = kv_of(c),
                               .keys = {{"batch", text(s.batch)},
                                        {"context", text(s.context)},
                                        {"heads", text(s.heads)},
                                        {"kv_heads", text(s.kv_heads)},
                                        {"head_dim", text(s.head_dim)}},
                               .threads = c.threads});
}

std::unique_ptr<Problem> bind(const KernelInfo& info, const Case& c, const Caches& caches) {
  const auto& kernel = *static_cast<const Kernel*>(info.table);
  return dispatch(c, [&]<class W, class C>() -> std::unique_ptr<Problem> {
    return std::make_unique<Decode<W, C>>(kernel, c, caches);
  });
}

}  // namespace

extern const Operation operation = {cases, test_cases, supports, bind};

}  // namespace kernels::decode
