// Every GPU kernel on its test cases, on the emulator: the same problems, inputs and
// oracles as on a GPU (tests/gpu), so that indexing and masks are proven where there is none.
#include "emulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "bench/part_events.hpp"
#include "kernels/attention/attention_gpu.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/problem.hpp"
#include "kernels/decode/decode_gpu.hpp"
#include "kernels/dot/dot_gpu.hpp"
#include "kernels/matmul/matmul_gpu.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/stream_gpu.hpp"

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

// Libraries have no emulation.
#define EMULATE_sm80(op, variant) \
  {{#op, #variant, Need::sm80, Threads::one, "", &op::variant}, &op::gpu_operation},
#define EMULATE_fp8_mma EMULATE_sm80
#define EMULATE_sm90a(op, variant) \
  {{#op, #variant, Need::sm90a, Threads::one, "", &op::variant}, &op::gpu_operation},
#define EMULATE_cublaslt(op, variant)
#define EMULATE_cublas EMULATE_cublaslt
#define EMULATE_cub EMULATE_cublaslt
#define EMULATE_cudnn EMULATE_cublaslt
#define GPU_OPERATION(op, what)
#define GPU_KERNEL(op, variant, needs, idea) EMULATE_##needs(op, variant)
const Emulated kEmulated[] = {
#include "kernels/kernels.def"
};

}  // namespace

// The registry, of the emulated kernels alone: a program looks up its parts.
std::span<const KernelInfo> all_kernels() {
  static const auto list = [] {
    std::vector<KernelInfo> infos;
    for (const auto& e : kEmulated) infos.push_back(e.info);
    return infos;
  }();
  return list;
}
const Operation& operation_of(const KernelInfo& kernel) {
  for (const auto& e : kEmulated)
    if (e.info.op == kernel.op) return *e.operation;
  throw std::logic_error("no such operation");
}

namespace {

constexpr Caches kChip = {
    .l1d = 164 << 10, .l2 = 4 << 20, .memory = std::int64_t{2} << 30, .cores = 2};

/// What a fiber-switched thread can do in a second or so.
bool affordable(const KernelInfo& kernel, const Case& c) {
  if (kernel.op == "dot") return c.size("N") <= 66000;
  if (kernel.op == "matmul")  // wgmma is one step of the emulator for 128 threads
    return static_cast<double>(c.size("M")) * c.size("N") * c.size("K") <=
           (kernel.needs == Need::sm90a ? 1.0e8 : 1.0e7);
  if (kernel.op == "fma_peak") return c.text("data") == "random";
  if (kernel.op == "attention") return c.size("context") <= (c.dtype == "bf16" ? 1100 : 400);
  if (kernel.op == "stream") return c.size("size") <= 300000;
  return true;
}

class EmulatedKernel : public testing::TestWithParam<const Emulated*> {};

/// Whose blocks have less shared memory than some kernels need (CMakeLists.txt).
bool on_a_small_chip() { return std::getenv("EMULATED_SHARED_BYTES") != nullptr; }

TEST_P(EmulatedKernel, IsRightOnItsTestCases) {
  const auto& [info, operation] = *GetParam();
  Caches chip = kChip;
  if (info.op == "fma_peak") chip.cores = 1;  // its work grows with the chip
  int tried = 0;
  for (const Case& c : operation->test_cases()) {
    if (!operation->supports(info, c) || !affordable(info, c)) continue;
    try {
      const auto problem = operation->bind(info, c, chip);
      EXPECT_EQ(problem->verify(), "") << info.variant << " " << c.name();
      problem->read_in_order();
      // What a call leaves behind (counters, partial sums) must serve the next one.
      EXPECT_EQ(problem->verify(), "") << info.variant << " " << c.name() << ", second call";
      ++tried;
    } catch (const cuda::Unsupported& e) {
      EXPECT_TRUE(on_a_small_chip()) << info.variant << " " << c.name() << ": " << e.what();
      EXPECT_EQ(std::string(e.what()).rfind("needs ", 0), 0u) << e.what();
    }
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

/// On a larger chip a context has more pieces than are added up at once.
TEST(Emulated, AttentionAddsUpAnyNumberOfPieces) {
  Caches chip = kChip;
  chip.cores = 64;
  for (const char* variant : {"sm80_v3_gqa", "sm80_v4_mma", "sm90a_v6_fused"})
    for (const char* head_dim : {"64", "128"}) {
      const Case c = {.dtype = "bf16",
                      .keys = {{"batch", "1"},
                               {"context", "6000"},
                               {"heads", "3"},
                               {"kv_heads", "1"},
                               {"head_dim", head_dim}}};
      const auto& [info, operation] = find("attention", variant);
      EXPECT_EQ(operation->bind(info, c, chip)->verify(), "") << variant << " " << c.name();
    }
}

/// Two sequences whose pieces, long and short, wait in a queue on a chip of one SM.
Case queued_case(const char* dtype, const char* head_dim) {
  return {.dtype = dtype,
          .keys = {{"batch", "2"},
                   {"context", "2900"},
                   {"heads", "3"},
                   {"kv_heads", "1"},
                   {"head_dim", head_dim}}};
}
Caches one_sm() {
  Caches chip = kChip;
  chip.cores = 1;
  return chip;
}

TEST(Emulated, AttentionTakesPiecesFromAQueue) {
  const auto& [info, operation] = find("attention", "sm90a_v8_queue");
  for (const auto& [dtype, head_dim] : {std::pair{"bf16", "64"}, {"bf16", "128"}, {"s8", "128"}})
    for (const bool ragged : {false, true}) {
      Case c = queued_case(dtype, head_dim);
      if (ragged) c.keys.emplace_back("lengths", "ragged");
      const auto problem = operation->bind(info, c, one_sm());
      for (int call = 0; call < 2; ++call) EXPECT_EQ(problem->verify(), "") << c.name();
    }
}

/// The verdict on `c` with another table in the kernel's place.
std::string verdict(const Emulated& kernel, const void* table, const Case& c,
                    const Caches& chip = kChip) {
  KernelInfo info = kernel.info;
  info.table = table;
  return kernel.operation->bind(info, c, chip)->verify();
}

// Wrong kernels that the oracles must catch: each leaves out the last of something.
std::int64_t dot_without_last(const dot::GpuArguments& a, cudaStream_t stream) {
  dot::GpuArguments less = a;
  --less.n;
  return dot::sm80_v6_single.bf16(less, stream);
}
void matmul_without_last_k(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  --less.k;
  matmul::sm80_v8_mma.bf16(less, stream);
}
void matmul_into_padding(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::sm80_v8_mma.bf16(a, stream);
  static_cast<float*>(a.z)[a.n] = 0;
}
void hopper_without_last_step(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  less.k -= 64;  // a step of v13 in bf16; its tensor maps still have all of K
  matmul::sm90a_v13_store.bf16(less, stream);
}
template <const matmul::GpuKernel& kernel>
void e4m3_without_last_step(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  less.k -= 128;
  kernel.e4m3(less, stream);
}
std::shared_ptr<void> streamk_without_last_step(const matmul::GpuArguments& a,
                                                const matmul::GpuTypes& types) {
  matmul::GpuArguments less = a;
  less.k -= 64;
  return matmul::sm90a_v14_streamk.open(less, types);
}
std::shared_ptr<void> pairs_without_last_step(const matmul::GpuArguments& a,
                                              const matmul::GpuTypes& types) {
  matmul::GpuArguments less = a;
  less.k -= 64;
  return matmul::sm90a_streamk_pairs.open(less, types);
}
std::shared_ptr<void> rows_cluster_without_last_step(const matmul::GpuArguments& a,
                                                     const matmul::GpuTypes& types) {
  matmul::GpuArguments less = a;
  less.k -= 64;
  return matmul::sm90a_rows_cluster.open(less, types);
}
void splitk_without_last_part(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  less.k -= less.k / 4;
  matmul::sm80_splitk.bf16xs8(less, stream);
}
void splitk_simt_without_last_part(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments less = a;
  less.k -= less.k / 4;
  matmul::sm80_splitk_simt.f32(less, stream);
}
void widen_with_other_scales(const matmul::GpuArguments& a, cudaStream_t stream) {
  matmul::GpuArguments other = a;
  const std::vector<float> ones(a.n, 1.0f);
  other.scales = ones.data();
  matmul::sm90a_v15_widen.bf16xs8(other, stream);
}
template <const attention::GpuKernel& kernel, auto type, auto dim>
int attention_without_last(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  --less.context;
  return (kernel.*type.*dim)(less, stream);
}
int attention_without_combining(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  less.chunks = 1;
  return attention::sm80_v2_split.bf16.dim_64(less, stream);
}
int queue_attention_without_last_piece(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments less = a;
  --less.chunks;
  return attention::sm90a_v8_queue.bf16.dim_128(less, stream);
}
int mma_attention_with_equal_lengths(const attention::GpuArguments& a, cudaStream_t stream) {
  attention::GpuArguments more = a;
  more.lengths = nullptr;
  return attention::sm80_v4_mma.bf16.dim_64(more, stream);
}

/// Four tiles of 21 steps over three blocks: two are cut, each in two parts.
const Case kCut = {.dtype = "bf16", .keys = {{"M", "129"}, {"N", "257"}, {"K", "1300"}}};

/// A pair of tiles of 43 steps over three clusters.
const Case kCutPair = {.dtype = "bf16", .keys = {{"M", "150"}, {"N", "200"}, {"K", "2700"}}};

TEST(Oracles, CatchWrongKernels) {
  const dot::GpuKernel short_dot = {.bf16 = dot_without_last};
  // An input value can be 0, so that leaving it out is right: of several lengths one must show.
  int caught = 0;
  for (const char* n : {"1001", "1002", "1003"})
    caught += verdict(find("dot", "sm80_v6_single"), &short_dot,
                      {.dtype = "bf16", .keys = {{"N", n}}}) != "";
  EXPECT_GT(caught, 0);

  const Case product = {.dtype = "bf16", .keys = {{"M", "33"}, {"N", "65"}, {"K", "70"}}};
  const auto& mma = find("matmul", "sm80_v8_mma");
  matmul::GpuKernel wrong = matmul::sm80_v8_mma;
  EXPECT_EQ(verdict(mma, &wrong, product), "");
  wrong.bf16 = matmul_without_last_k;
  EXPECT_NE(verdict(mma, &wrong, product), "");
  wrong.bf16 = matmul_into_padding;
  EXPECT_NE(verdict(mma, &wrong, product), "");

  const Case deep = {.dtype = "bf16", .keys = {{"M", "130"}, {"N", "300"}, {"K", "200"}}};
  const auto& hopper = find("matmul", "sm90a_v13_store");
  matmul::GpuKernel table = matmul::sm90a_v13_store;
  EXPECT_EQ(verdict(hopper, &table, deep), "");
  table.bf16 = hopper_without_last_step;
  EXPECT_NE(verdict(hopper, &table, deep), "");

  const Case bytes = {.dtype = "e4m3",
                      .keys = {{"M", "130"}, {"N", "300"}, {"K", "400"}, {"pack", "pre"}}};
  table = matmul::sm90a_v16_quarters;
  EXPECT_EQ(verdict(find("matmul", "sm90a_v16_quarters"), &table, bytes), "");
  table.e4m3 = e4m3_without_last_step<matmul::sm90a_v16_quarters>;
  EXPECT_NE(verdict(find("matmul", "sm90a_v16_quarters"), &table, bytes), "");
  table = matmul::sm90a_v17_behind;
  EXPECT_EQ(verdict(find("matmul", "sm90a_v17_behind"), &table, bytes), "");
  table.e4m3 = e4m3_without_last_step<matmul::sm90a_v17_behind>;
  EXPECT_NE(verdict(find("matmul", "sm90a_v17_behind"), &table, bytes), "");

  const auto& streamk = find("matmul", "sm90a_v14_streamk");
  table = matmul::sm90a_v14_streamk;
  EXPECT_EQ(verdict(streamk, &table, kCut), "");
  table.open = streamk_without_last_step;
  EXPECT_NE(verdict(streamk, &table, kCut), "");

  const auto& pairs = find("matmul", "sm90a_streamk_pairs");
  table = matmul::sm90a_streamk_pairs;
  EXPECT_EQ(verdict(pairs, &table, kCutPair), "");
  table.open = pairs_without_last_step;
  EXPECT_NE(verdict(pairs, &table, kCutPair), "");

  const auto& rows_cluster = find("matmul", "sm90a_rows_cluster");
  table = matmul::sm90a_rows_cluster;
  EXPECT_EQ(verdict(rows_cluster, &table, kCut), "");
  table.open = rows_cluster_without_last_step;
  EXPECT_NE(verdict(rows_cluster, &table, kCut), "");

  const Case mixed = {.dtype = "bf16xs8",
                      .keys = {{"M", "9"}, {"N", "130"}, {"K", "700"}, {"pack", "pre"}}};
  table = matmul::sm80_splitk;
  EXPECT_EQ(verdict(find("matmul", "sm80_splitk"), &table, mixed), "");
  table.bf16xs8 = splitk_without_last_part;
  EXPECT_NE(verdict(find("matmul", "sm80_splitk"), &table, mixed), "");
  const Case plain = {.dtype = "f32", .keys = {{"M", "9"}, {"N", "130"}, {"K", "700"}}};
  table = matmul::sm80_splitk_simt;
  EXPECT_EQ(verdict(find("matmul", "sm80_splitk_simt"), &table, plain), "");
  table.f32 = splitk_simt_without_last_part;
  EXPECT_NE(verdict(find("matmul", "sm80_splitk_simt"), &table, plain), "");
  table = matmul::sm90a_v15_widen;
  EXPECT_EQ(verdict(find("matmul", "sm90a_v15_widen"), &table, mixed), "");
  table.bf16xs8 = widen_with_other_scales;
  EXPECT_NE(verdict(find("matmul", "sm90a_v15_widen"), &table, mixed), "");

  const Case decode = {.dtype = "bf16",
                       .keys = {{"batch", "1"},
                                {"context", "300"},
                                {"heads", "4"},
                                {"kv_heads", "2"},
                                {"head_dim", "64"}}};
  const auto& split = find("attention", "sm80_v2_split");
  attention::GpuKernel bad = attention::sm80_v2_split;
  EXPECT_EQ(verdict(split, &bad, decode), "");
  bad.bf16.dim_64 = attention_without_last<attention::sm80_v2_split, &attention::GpuKernel::bf16,
                                           &attention::GpuLaunches::dim_64>;
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
  rough.bf16.dim_64 = attention_without_last<attention::sm80_v4_mma, &attention::GpuKernel::bf16,
                                             &attention::GpuLaunches::dim_64>;
  EXPECT_NE(verdict(tensor, &rough, decode), "");
  rough.bf16.dim_64 = mma_attention_with_equal_lengths;
  EXPECT_NE(verdict(tensor, &rough, ragged), "");
  const auto& fused = find("attention", "sm90a_v6_fused");
  rough = attention::sm90a_v6_fused;
  EXPECT_EQ(verdict(fused, &rough, ragged), "");
  rough.bf16.dim_64 = attention_without_last<attention::sm90a_v6_fused, &attention::GpuKernel::bf16,
                                             &attention::GpuLaunches::dim_64>;
  EXPECT_NE(verdict(fused, &rough, decode), "");
  const auto& queue = find("attention", "sm90a_v8_queue");
  rough = attention::sm90a_v8_queue;
  rough.bf16.dim_128 =
      attention_without_last<attention::sm90a_v8_queue, &attention::GpuKernel::bf16,
                             &attention::GpuLaunches::dim_128>;
  EXPECT_NE(verdict(queue, &rough, queued_case("bf16", "128"), one_sm()), "");
  rough.bf16.dim_128 = queue_attention_without_last_piece;
  EXPECT_NE(verdict(queue, &rough, queued_case("bf16", "128"), one_sm()), "");
  const auto& narrow = find("attention", "sm90a_v7_bytes");
  rough = attention::sm90a_v7_bytes;
  rough.s8.dim_128 = attention_without_last<attention::sm90a_v7_bytes, &attention::GpuKernel::s8,
                                            &attention::GpuLaunches::dim_128>;
  rough.e4m3.dim_128 =
      attention_without_last<attention::sm90a_v7_bytes, &attention::GpuKernel::e4m3,
                             &attention::GpuLaunches::dim_128>;
  Case wide = decode;
  wide.keys.back().second = "128";
  for (const char* dtype : {"s8", "e4m3"}) {
    wide.dtype = dtype;
    EXPECT_EQ(verdict(narrow, &attention::sm90a_v7_bytes, wide), "");
    EXPECT_NE(verdict(narrow, &rough, wide), "");
  }
}

// Wrong glue, and kernels that leave out a part of what they are given.
void without_residual(float* x, const float*, std::int64_t rows, std::int64_t n, bf16* out,
                      cudaStream_t stream) {
  decode::sm80_mma.glue.add_normalise(x, nullptr, rows, n, out, stream);
}
void into_the_token_before(const decode::NewToken& a, cudaStream_t stream) {
  decode::NewToken other = a;
  other.k = static_cast<std::int8_t*>(a.k) - a.head_dim;
  decode::sm80_mma.glue.store_s8(other, stream);
}
void without_last_value(const float* x, std::int64_t n, bf16* out, cudaStream_t stream) {
  decode::sm80_mma.glue.narrow(x, n - 1, out, stream);
}
void without_silu(const float* both, std::int64_t rows, std::int64_t n, bf16* out,
                  cudaStream_t stream) {
  for (std::int64_t r = 0; r < rows; ++r)
    decode::sm80_mma.glue.narrow(both + r * 2 * n, n, out + r * n, stream);
}

const Case kStep = {.dtype = "bf16xs8",
                    .keys = {{"B", "2"},
                             {"T", "9"},
                             {"layers", "2"},
                             {"kv", "s8"},
                             {"D", "64"},
                             {"F", "48"},
                             {"N", "4"},
                             {"K", "2"},
                             {"H", "64"},
                             {"V", "32"}}};

TEST(Oracles, CatchAWrongDecodeStep) {
  const auto& kernel = find("decode", "sm80_mma");
  const auto with = [&](auto change) {
    decode::GpuKernel table = decode::sm80_mma;
    change(table);
    return verdict(kernel, &table, kStep);
  };
  using Table = decode::GpuKernel;
  EXPECT_EQ(with([](Table&) {}), "");
  EXPECT_EQ(with([](Table& t) { t.attention_s8 = "sm80_v1_warp"; }), "");
  EXPECT_NE(with([](Table& t) { t.glue.add_normalise = without_residual; }), "");
  EXPECT_NE(with([](Table& t) { t.glue.store_s8 = into_the_token_before; }), "");
  EXPECT_NE(with([](Table& t) { t.glue.narrow = without_last_value; }), "");
  EXPECT_NE(with([](Table& t) { t.glue.gate = without_silu; }), "");
}

TEST(DecodeStep, TellsItsPartsAtTheirEnds) {
  const auto& [info, operation] = find("decode", "sm80_mma");
  const auto problem = operation->bind(info, kStep, kChip);
  auto& step = static_cast<cuda::GpuProblem&>(*problem);
  std::vector<std::size_t> ends;
  step.watch([&](std::size_t part) { ends.push_back(part); });
  // The start, its norm, eleven launches a layer and the head.
  EXPECT_EQ(step.enqueue(0, 1, nullptr), 2 + 2 * 11 + 1);
  EXPECT_EQ(ends, (std::vector<std::size_t>{6, 0, 6, 1, 6, 2, 6, 3, 6, 4,  //
                                            6, 0, 6, 1, 6, 2, 6, 3, 6, 4, 6, 5}));
  step.watch({});
  EXPECT_EQ(step.enqueue(0, 2, nullptr), 2 * 25);
  EXPECT_EQ(ends.size(), 22u);
}

TEST(DecodeStep, IsTimedByPart) {
  const auto& [info, operation] = find("decode", "sm80_mma");
  const auto problem = operation->bind(info, kStep, kChip);
  std::vector<double> seconds(problem->parts().size());
  {
    bench::PartEvents events(static_cast<cuda::GpuProblem&>(*problem), nullptr);
    for (int call = 0; call < 2; ++call) {
      events.enqueue(call);
      events.add_to(seconds);
    }
  }
  for (double& s : seconds) s = std::round(s * 1e6) / 1e6;
  // Two calls, two layers, 1 ms a launch: attention takes two; glue two before the layers (a copy
  // and a norm) and five in each.
  EXPECT_EQ(seconds, (std::vector<double>{4e-3, 8e-3, 4e-3, 4e-3, 4e-3, 2e-3, 24e-3}));
}

TEST(DecodeStep, IsTheSumOfItsParts) {
  const auto& [info, operation] = find("decode", "sm80_mma");
  const auto problem = operation->bind(info, kStep, kChip);
  double flops = 0, bytes = 0, l2 = 0;
  std::string names;
  for (const Part& part : problem->parts()) {
    names += part.name + "=" + part.op + "/" + part.variant + "/" + part.exec_unit.first + " ";
    flops += part.cost.flops;
    l2 += part.traffic.l2;
    if (part.name != "glue") bytes += part.cost.bytes;
    EXPECT_TRUE(std::isnan(part.traffic.dram)) << part.name;  // all of it stays in 4 MB
    // Two layers of one tile: X of 2 x 256 bf16, 256 x 64 weights of a byte, Z of 2 x 64 fp32.
    if (part.name == "out") {
      EXPECT_EQ(part.traffic.l2, 2 * (1024 + 16384 + 512));
    }
    // Two layers of K and V, each 2 x 9 tokens of 2 heads of 64 bytes and a scale.
    if (part.name == "attention") {
      EXPECT_EQ(part.traffic.l2, 2 * 2 * 2 * 9 * 2 * (64 + 4));
    }
  }
  EXPECT_EQ(names,
            "qkv=matmul/sm80_skinny/mma attention=attention/sm80_v4_mma/mma "
            "out=matmul/sm80_skinny/mma mlp_up=matmul/sm80_skinny/mma "
            "mlp_down=matmul/sm80_skinny/mma head=matmul/sm80_skinny/mma glue=glue//cuda-core ");
  EXPECT_DOUBLE_EQ(flops, problem->cost().flops);
  EXPECT_DOUBLE_EQ(bytes, problem->cost().bytes);
  EXPECT_DOUBLE_EQ(l2, problem->traffic().l2);

  Caches small = kChip;
  small.l2 = 16 << 10;  // five times as much would not hold it
  const auto beyond = operation->bind(info, kStep, small);
  EXPECT_DOUBLE_EQ(beyond->traffic().dram, beyond->cost().bytes);
}

std::vector<std::uint32_t> kept_z;
template <const matmul::GpuKernel& kKernel>
void streamk_keeping_z(const matmul::GpuArguments& a, cudaStream_t stream) {
  kKernel.bf16(a, stream);
  const auto* z = static_cast<const std::uint32_t*>(a.z);
  kept_z.assign(z, z + a.m * a.z_pitch);
}
template <const matmul::GpuKernel& kKernel>
void expect_same_bits_backwards(const char* variant, const Case& c) {
  matmul::GpuKernel table = kKernel;
  table.bf16 = streamk_keeping_z<kKernel>;
  const auto& kernel = find("matmul", variant);
  EXPECT_EQ(verdict(kernel, &table, c), "");
  const auto forwards_z = kept_z;
  emulation::backwards = true;
  EXPECT_EQ(verdict(kernel, &table, c), "");
  emulation::backwards = false;
  EXPECT_EQ(kept_z, forwards_z) << variant;
}
TEST(StreamK, GivesTheSameBitsWhicheverBlockAddsThePartsUp) {
  expect_same_bits_backwards<matmul::sm90a_v14_streamk>("sm90a_v14_streamk", kCut);
  expect_same_bits_backwards<matmul::sm90a_streamk_pairs>("sm90a_streamk_pairs", kCutPair);
}

TEST(MatmulTraffic, CountsTheSumsThatBlocksLeaveToOneAnother) {
  const auto l2 = [](const char* variant, const Case& c) {
    const auto& [info, operation] = find("matmul", variant);
    return operation->bind(info, c, kChip)->traffic().l2;
  };
  // Four parts of 128 x 256 floats.
  EXPECT_EQ(l2("sm90a_v14_streamk", kCut),
            2 * (129 + 257) * 1300 * 2 + 129 * 257 * 4 + 2 * 4 * 128 * 256 * 4);
  // Three of 256 x 256.
  EXPECT_EQ(l2("sm90a_streamk_pairs", kCutPair),
            (150 + 200) * 2700 * 2 + 150 * 200 * 4 + 2 * 3 * 256 * 256 * 4);
  // Tiles of 128 columns: three, of two blocks that share weights; four, of which two share X.
  EXPECT_EQ(l2("sm90a_rows_cluster", kCut), (3 * 129 + 257) * 1300 * 2 + 129 * 257 * 4);
  EXPECT_EQ(l2("sm90a_rows_cluster",
               {.dtype = "bf16", .keys = {{"M", "16"}, {"N", "512"}, {"K", "1000"}}}),
            (2 * 16 + 512) * 1000 * 2 + 16 * 512 * 4);
  // 11 steps of K in two parts, of two tiles of 16 x 128.
  EXPECT_EQ(l2("sm80_splitk", {.dtype = "bf16xs8",
                               .keys = {{"M", "9"}, {"N", "130"}, {"K", "700"}, {"pack", "pre"}}}),
            2 * 9 * 700 * 2 + 700 * 130 + 9 * 130 * 4 + 2 * 2 * 2 * 16 * 128 * 4);
}

/// Small sets are cut into a slice for each of the four blocks, larger ones into tiles of 32 KB.
TEST(StreamPasses, ReadEveryWordInEachOfThem) {
  constexpr std::int64_t kRepeats = 6;
  for (const std::int64_t n : {4, 100, 2052, 20000, 32764, 32768, 50004}) {
    std::vector<float> values(n);
    std::vector<std::uint32_t> words(n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(i + 1);
    std::memcpy(words.data(), values.data(), n * sizeof(float));
    std::uint32_t sum = 0, expected = 0;
    for (const std::uint32_t word : words) expected += kRepeats * word;
    stream::sm80_vector.read(
        {.a = values.data(), .n = n, .repeats = kRepeats, .sum = &sum, .sms = 2}, nullptr);
    EXPECT_EQ(sum, expected) << n;
  }
}

TEST(MatmulRoof, IsOfWhatTheTensorCoresMultiply) {
  using Roof = std::pair<std::string, std::string>;
  const auto roof = [](const char* variant, const char* dtype) {
    const auto& [info, operation] = find("matmul", variant);
    const Case c = {.dtype = dtype,
                    .keys = {{"M", "16"}, {"N", "128"}, {"K", "256"}, {"pack", "pre"}}};
    EXPECT_TRUE(operation->supports(info, c)) << variant << ' ' << dtype;
    return operation->bind(info, c, kChip)->exec_unit();
  };
  EXPECT_EQ(roof("sm80_splitk", "e4m3"), Roof("mma", "f16"));
  EXPECT_EQ(roof("sm80_splitk", "s8"), Roof("mma", "s8"));
  EXPECT_EQ(roof("sm80_splitk", "bf16xs8"), Roof("mma", "bf16"));
  EXPECT_EQ(roof("sm90a_v13_store", "e4m3"), Roof("wgmma", "e4m3"));
}

TEST(AttentionRoof, IsOfWhatTheTensorCoresMultiply) {
  using Roof = std::pair<std::string, std::string>;
  const auto roof = [](const char* variant, const char* dtype) {
    const auto& [info, operation] = find("attention", variant);
    const Case c = {.dtype = dtype,
                    .keys = {{"batch", "1"},
                             {"context", "9"},
                             {"heads", "1"},
                             {"kv_heads", "1"},
                             {"head_dim", "128"}}};
    return operation->bind(info, c, kChip)->exec_unit();
  };
  EXPECT_EQ(roof("sm90a_v6_fused", "s8"), Roof("mma", "bf16"));
  EXPECT_EQ(roof("sm90a_v7_bytes", "s8"), Roof("mma", "s8"));
  EXPECT_EQ(roof("sm90a_v7_bytes", "e4m3"), Roof("mma", "f16"));
  EXPECT_EQ(roof("sm90a_v8_queue", "s8"), Roof("mma", "s8"));
  EXPECT_EQ(roof("sm90a_v8_queue", "bf16"), Roof("mma", "bf16"));
}

/// Beyond 512^3 the oracle samples on the device; forced here on a small product.
TEST(Oracles, SampledChecksAcceptARightProduct) {
  const Case c = {.dtype = "f32", .keys = {{"M", "9"}, {"N", "2000"}, {"K", "8000"}}};
  const auto& kernel = find("matmul", "sm80_v2_coalesced");
  EXPECT_EQ(verdict(kernel, &matmul::sm80_v2_coalesced, c), "");
}

}  // namespace
}  // namespace kernels
