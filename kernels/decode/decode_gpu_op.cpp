// A decode step on a GPU as an operation: its cases, its kernels, the problem. Its memory is in
// decode_gpu_stack.hpp; the oracle is the CPU's, on copies of what each kernel got and left.
#include <omp.h>

#include <stdexcept>

#include "kernels/cuda/problem.hpp"
#include "kernels/cuda/traffic.hpp"
#include "kernels/decode/decode_cases.hpp"
#include "kernels/decode/decode_gpu_stack.hpp"
#include "kernels/decode/decode_verify.hpp"
#include "kernels/matmul/matmul_gpu_traffic.hpp"
#include "kernels/registry.hpp"

namespace kernels::decode {
namespace {

/// How far attention on tensor cores may be off, whose queries and weights are rounded to bf16
/// (2^-9 of each): a few of that times values of about 1. On CUDA cores it works in fp32.
constexpr double kTensorTolerance = 0x1p-6, kTolerance = 1e-4;

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

template <class W, class C>
class GpuDecode final : public cuda::GpuProblem {
 public:
  GpuDecode(const GpuKernel& kernel, const Case& c, const Caches& caches)
      : case_(c),
        caches_(caches),
        choice_(choose(kernel, c)),
        calls_{*static_cast<const matmul::GpuKernel*>(choice_.product->table),
               *static_cast<const attention::GpuKernel*>(choice_.attend->table), kernel.glue},
        stack_(checked(shape_of(c), caches), calls_, caches.cores) {
    for (int stage = 0; stage < kStages; ++stage)
      if (stage != kHead || stack_.shape().vocabulary > 0)
        stages_.push_back(static_cast<Stage>(stage));
  }

  std::int64_t enqueue(std::int64_t, std::int64_t count, cudaStream_t stream) override {
    std::array<std::size_t, kStages> index{};
    for (std::size_t i = 0; i < stages_.size(); ++i) index[stages_[i]] = i;
    std::int64_t launches = 0;
    for (std::int64_t i = 0; i < count; ++i)
      launches += stack_.step(stream, [&](Stage stage, std::int64_t) {
        if (done_) done_(index[stage]);
      });
    return launches;
  }

  void watch(std::function<void(std::size_t)> done) override { done_ = std::move(done); }

  std::string verify() override {
    stack_.poison();
    std::string wrong;
    stack_.step(nullptr, [&](Stage stage, std::int64_t layer) {
      CUDA_CHECK(cudaDeviceSynchronize());
      if (wrong.empty()) wrong = check(stage, layer);
    });
    if (wrong.empty() && cost().flops / 2 <= kWholeOracle) wrong = check_step(HostCopy(stack_));
    return wrong.empty() ? wrong : "decode " + case_.name() + ": " + wrong;
  }

  Cost cost() const override { return decode::cost(stack_.shape(), kElement<W, C>); }

  LevelBytes traffic() const override {
    LevelBytes sum{.l1 = 0, .l2 = 0};
    for (const Stage stage : stages_) {
      const LevelBytes part = traffic(stage);
      sum.l1 += part.l1;
      sum.l2 += part.l2;
    }
    sum.dram = beyond_l2(cost().bytes);
    return sum;
  }

  /// All weights and the whole cache are read in turn, once a step.
  double working_set_bytes() const override { return cost().bytes; }

  std::pair<std::string, std::string> exec_unit() const override {
    return {calls_.product.exec_unit, "bf16"};
  }

  std::vector<Part> parts() const override {
    std::vector<Part> out;
    for (const Stage stage : stages_) {
      Part part{.name = kStageNames[stage],
                .cost = decode::cost(stack_.shape(), stage, kElement<W, C>),
                .traffic = traffic(stage)};
      if (stage == kAttention) {
        part.op = "attention";
        part.variant = choice_.attend->variant;
        part.dtype = dtype_name<C>();
        part.exec_unit =
            calls_.attend.tensor_cores ? std::pair{"mma", "bf16"} : std::pair{"cuda-core", "f32"};
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
  static Shape checked(const Shape& s, const Caches& caches) {
    cuda::require_device_memory(memory_bytes(s, kElement<W, C>), caches);
    return s;
  }
  /// Of so many bytes of a step those that come from HBM; unknown where the stack stays in L2.
  double beyond_l2(double bytes) const {
    return cuda::streaming_traffic(bytes, working_set_bytes(), caches_).dram;
  }
  /// Without HBM where the whole stack stays in L2. Between two runs of the same stage the whole
  /// rest of the stack passes; glue works on what is in L2.
  LevelBytes traffic(Stage stage) const {
    const Cost work = decode::cost(stack_.shape(), stage, kElement<W, C>);
    LevelBytes t{.l1 = work.bytes, .l2 = work.bytes};
    if (stage == kGlue) return t;
    if (stage == kAttention) {
      t.l1 = t.l2 = work.bytes * static_cast<double>(attention::reads_of(
                                     calls_.attend, stack_.attention_shape(), sizeof(C)));
    } else {
      t = matmul::gpu_tile_traffic(product(stack_.shape(), stage),
                                   {sizeof(bf16), sizeof(W), sizeof(float)}, calls_.product.tiles);
      t.l2 += matmul::part_traffic(calls_.product, stack_.product_state(stage));
      t.l1 *= static_cast<double>(times(stack_.shape(), stage));
      t.l2 *= static_cast<double>(times(stack_.shape(), stage));
    }
    t.dram = beyond_l2(work.bytes);
    return t;
  }

  std::string check(Stage stage, std::int64_t layer) const {
    const Shape& s = stack_.shape();
    const auto product = [&](const Memory& in, const Memory& out) {
      const matmul::Shape m = decode::product(s, stage);
      return check_product<W>(s, stage, layer, stack_.template copy<bf16>(in, m.k).data(),
                              stack_.template copy<float>(out, m.n).data(), 0,
                              omp_get_max_threads());
    };
    return check_stage(stack_, stage, product, [&] { return check_attended(layer); });
  }

  std::string check_attended(std::int64_t layer) const {
    const Shape& s = stack_.shape();
    std::vector<typename GpuStack<W, C>::HostCache> tokens;
    for (const std::int64_t head : checked_heads(s))
      tokens.push_back(stack_.cache(layer, first_row(s, head), s.context));
    const auto rows = [&](const Memory& memory) {
      return stack_.template copy<float>(memory, s.heads * s.head_dim);
    };
    return check_attention<C>(s, layer, rows(stack_.q).data(), rows(stack_.attended).data(), tokens,
                              calls_.attend.tensor_cores ? kTensorTolerance : kTolerance,
                              omp_get_max_threads());
  }

  Case case_;
  Caches caches_;
  Choice choice_;
  GpuCalls calls_;
  GpuStack<W, C> stack_;
  std::vector<Stage> stages_;  ///< the parts, in the order of parts()
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
