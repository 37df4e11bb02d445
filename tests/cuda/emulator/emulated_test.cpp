// Every portable GPU kernel on its test cases, on the emulator: the same problems, inputs and
// oracles as on a GPU (tests/gpu), so that indexing and masks are proven where there is none.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/attention/attention_gpu.hpp"
#include "kernels/dot/dot_gpu.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/registry.hpp"

#define OPERATION(op, what)
#define KERNEL(op, variant, needs, threads, idea)
#define GPU_OPERATION(op, what)         \
  namespace op {                        \
  extern const Operation gpu_operation; \
  }
#define GPU_KERNEL(op, variant, needs, idea) \
  namespace op {                             \
  struct GpuKernel;                          \
  extern const GpuKernel variant;            \
  }
namespace kernels {
#include "kernels/kernels.def"
}  // namespace kernels
#undef GPU_OPERATION
#undef GPU_KERNEL

namespace kernels {
namespace {

struct Emulated {
  KernelInfo info;
  const Operation* operation;
};

// Hopper's own instructions and libraries have no emulation.
#define EMULATE_sm80(op, variant) \
  {{#op, #variant, Need::sm80, Threads::one, "", &op::variant}, &op::gpu_operation},
#define EMULATE_sm89 EMULATE_sm80
#define EMULATE_sm90a(op, variant)
#define EMULATE_cublaslt(op, variant)
#define GPU_OPERATION(op, what)
#define GPU_KERNEL(op, variant, needs, idea) EMULATE_##needs(op, variant)
const Emulated kEmulated[] = {
#include "kernels/kernels.def"
};

constexpr Caches kChip = {
    .l1d = 164 << 10, .l2 = 4 << 20, .memory = std::int64_t{2} << 30, .cores = 2};

/// What a fiber-switched thread can do in a second or so.
bool affordable(const KernelInfo& kernel, const Case& c) {
  if (kernel.op == "dot") return c.size("N") <= 66000;
  if (kernel.op == "matmul")
    return static_cast<double>(c.size("M")) * c.size("N") * c.size("K") <= 1.0e7;
  if (kernel.op == "fma_peak") return c.text("data") == "random";
  if (kernel.op == "attention") return c.size("context") <= (c.dtype == "bf16" ? 1100 : 400);
  if (kernel.op == "stream") return c.size("size") <= 100000;
  return true;
}

class EmulatedKernel : public testing::TestWithParam<const Emulated*> {};

TEST_P(EmulatedKernel, IsRightOnItsTestCases) {
  const auto& [info, operation] = *GetParam();
  Caches chip = kChip;
  if (info.op == "fma_peak") chip.cores = 1;  // its work grows with the chip
  int tried = 0;
  for (const Case& c : operation->test_cases()) {
    if (!operation->supports(info, c) || !affordable(info, c)) continue;
    const auto problem = operation->bind(info, c, chip);
    EXPECT_EQ(problem->verify(), "") << info.variant << " " << c.name();
    // What a call leaves behind (counters, partial sums) must serve the next one.
    EXPECT_EQ(problem->verify(), "") << info.variant << " " << c.name() << ", second call";
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

std::vector<const Emulated*> all_emulated() {
  std::vector<const Emulated*> list;
  for (const auto& e : kEmulated) list.push_back(&e);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Registry, EmulatedKernel, testing::ValuesIn(all_emulated()),
                         [](const auto& test) {
                           return std::string(test.param->info.op) + "_" +
                                  std::string(test.param->info.variant);
                         });

const Emulated& find(std::string_view op, std::string_view variant) {
  for (const auto& e : kEmulated)
    if (e.info.op == op && e.info.variant == variant) return e;
  throw std::logic_error("no such kernel");
}

/// The verdict on `c` with another table in the kernel's place.
std::string verdict(const Emulated& kernel, const void* table, const Case& c) {
  KernelInfo info = kernel.info;
  info.table = table;
  return kernel.operation->bind(info, c, kChip)->verify();
}

// Wrong kernels that the oracles must catch: each leaves out the last of something.
std::int64_t dot_without_last(const dot::GpuArguments& a, cudaStream_t stream) {
  dot::GpuArguments less = a;
  --less.n;
  return dot::sm80_v3_vector.bf16(less, stream);
}
void matmul_without_last_k(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  --less.k;
  matmul::sm80_v5_mma.bf16(less, stream);
}
void matmul_into_padding(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::sm80_v5_mma.bf16(a, stream);
  static_cast<float*>(a.z)[a.n] = 0;
}
int attention_without_last(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  --less.context;
  return attention::sm80_v2_split.bf16.dim_64(less, stream);
}
int attention_without_combining(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  less.chunks = 1;
  return attention::sm80_v2_split.bf16.dim_64(less, stream);
}
int mma_attention_without_last(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  --less.context;
  return attention::sm80_v4_mma.bf16.dim_64(less, stream);
}
int mma_attention_with_equal_lengths(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments more = a;
  more.lengths = nullptr;
  return attention::sm80_v4_mma.bf16.dim_64(more, stream);
}
TEST(Oracles, CatchWrongKernels) {
  const dot::GpuKernel short_dot = {.bf16 = dot_without_last};
  // An input value can be 0, so that leaving it out is right: of several lengths one must show.
  int caught = 0;
  for (const char* n : {"1001", "1002", "1003"})
    caught += verdict(find("dot", "sm80_v3_vector"), &short_dot,
                      {.dtype = "bf16", .keys = {{"N", n}}}) != "";
  EXPECT_GT(caught, 0);

  const Case product = {.dtype = "bf16", .keys = {{"M", "33"}, {"N", "65"}, {"K", "70"}}};
  const auto& mma = find("matmul", "sm80_v5_mma");
  matmul::GpuKernel wrong = matmul::sm80_v5_mma;
  EXPECT_EQ(verdict(mma, &wrong, product), "");
  wrong.bf16 = matmul_without_last_k;
  EXPECT_NE(verdict(mma, &wrong, product), "");
  wrong.bf16 = matmul_into_padding;
  EXPECT_NE(verdict(mma, &wrong, product), "");

  const Case decode = {.dtype = "bf16",
                       .keys = {{"batch", "1"},
                                {"context", "300"},
                                {"heads", "4"},
                                {"kv_heads", "2"},
                                {"head_dim", "64"}}};
  const auto& split = find("attention", "sm80_v2_split");
  attention::GpuKernel bad = attention::sm80_v2_split;
  EXPECT_EQ(verdict(split, &bad, decode), "");
  bad.bf16.dim_64 = attention_without_last;
  EXPECT_NE(verdict(split, &bad, decode), "");
  bad.bf16.dim_64 = attention_without_combining;
  EXPECT_NE(verdict(split, &bad, decode), "");

  // Tensor cores round queries and weights: the oracle allows for it and still sees a token.
  Case ragged = decode;
  ragged.keys[0].second = "3";
  ragged.keys.emplace_back("lengths", "ragged");
  const auto& tensor = find("attention", "sm80_v4_mma");
  attention::GpuKernel rough = attention::sm80_v4_mma;
  EXPECT_EQ(verdict(tensor, &rough, decode), "");
  EXPECT_EQ(verdict(tensor, &rough, ragged), "");
  rough.bf16.dim_64 = mma_attention_without_last;
  EXPECT_NE(verdict(tensor, &rough, decode), "");
  rough.bf16.dim_64 = mma_attention_with_equal_lengths;
  EXPECT_NE(verdict(tensor, &rough, ragged), "");
}

/// Beyond 512^3 the oracle samples on the device; forced here on a small product.
TEST(Oracles, SampledChecksAcceptARightProduct) {
  const Case c = {.dtype = "f32", .keys = {{"M", "9"}, {"N", "2000"}, {"K", "8000"}}};
  const auto& kernel = find("matmul", "sm80_v2_coalesced");
  EXPECT_EQ(verdict(kernel, &matmul::sm80_v2_coalesced, c), "");
}

}  // namespace
}  // namespace kernels
