// The GPU operations' cases without a GPU: names, support, costs.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "kernels/attention/attention_gpu_pieces.hpp"
#include "kernels/registry.hpp"

namespace kernels {
namespace {

constexpr Caches kH100 = {
    .l1d = 228 << 10, .l2 = 50 << 20, .memory = std::int64_t{79} << 30, .cores = 132};

TEST(GpuOperations, ReachEveryKernelInCasesAndTestCases) {
  for (const auto& kernel : all_kernels()) {
    if (!kernel.gpu()) continue;
    const Operation& operation = operation_of(kernel);
    const auto count = [&](const std::vector<Case>& cases) {
      return std::count_if(cases.begin(), cases.end(),
                           [&](const Case& c) { return operation.supports(kernel, c); });
    };
    EXPECT_GT(count(operation.test_cases()), 0) << kernel.op << " " << kernel.variant;
    EXPECT_GT(count(operation.cases(kH100)), 0) << kernel.op << " " << kernel.variant;
  }
}

TEST(GpuOperations, NameEveryCaseOnceWithAndWithoutAGpu) {
  for (const auto& info : operations()) {
    if (!info.gpu) continue;
    for (const Caches& caches : {kH100, Caches{.cores = 0}}) {
      std::set<std::string> names;
      for (const Case& c : info.operation->cases(caches))
        EXPECT_TRUE(names.insert(c.name()).second) << info.name << " " << c.name();
      EXPECT_FALSE(names.empty()) << info.name;
    }
  }
}

TEST(GpuOperations, SayWhatOfTheirCasesDoesNotFit) {
  const auto unfit = [](std::string_view op, const Case& c, const Caches& gpu) {
    for (const auto& info : operations())
      if (info.gpu && info.name == op) return info.operation->unfit(all_kernels().front(), c, gpu);
    throw std::logic_error("no such operation");
  };
  const auto attention = [&](const char* batch) {
    return unfit("attention",
                 {.dtype = "bf16",
                  .keys = {{"batch", batch},
                           {"context", "131072"},
                           {"heads", "32"},
                           {"kv_heads", "8"},
                           {"head_dim", "128"},
                           {"temp", "cold"}}},
                 kH100);
  };
  // K and V: 2 * 256 * 131072 * 8 * 128 * 2 bytes, once; 0.9 * 79 GiB are there.
  EXPECT_EQ(attention("256"), "needs 137438 MB, this GPU has 76343 MB free");
  EXPECT_EQ(attention("32"), "");

  const Caches slice = {
      .l1d = 228 << 10, .l2 = 6 << 20, .memory = std::int64_t{4} << 30, .cores = 16};
  const auto dot = [&](const char* n) {
    return unfit("dot", {.dtype = "f32", .keys = {{"N", n}, {"temp", "cold"}}}, slice);
  };
  EXPECT_EQ(dot("536870912"),
            "needs 4294 MB, this GPU has 3865 MB free");  // one copy of two vectors
  EXPECT_EQ(dot("1048576"), "");
  const auto matmul = [&](const char* batch) {
    const Case c = {
        .dtype = "bf16",
        .keys = {{"batch", batch}, {"M", "1"}, {"N", "4096"}, {"K", "4096"}, {"temp", "cold"}}};
    return unfit("matmul", c, slice);
  };
  EXPECT_EQ(matmul("128"), "needs 5157 MB, this GPU has 3865 MB free");  // 1.2 * 4.298 GB, once
  EXPECT_EQ(matmul("16"), "");
}

TEST(AttentionPieces, OfAllItemsRunAtOnce) {
  const attention::GpuKernel two = {
      .splits = true, .pieces_per_sm = 2, .shared_heads = [](int) { return 16; }};
  const auto chunks = [&](std::int64_t batch, std::int64_t context, std::int64_t kv_heads) {
    const auto p = attention::pieces_of(
        two, {.batch = batch, .context = context, .heads = 32, .kv_heads = kv_heads}, 2, 132);
    return std::pair(p.chunk, p.chunks);
  };
  // 264 places. 8 items: 33 pieces of 249 tokens, in whole 32s; 64 items: 4; 32 * 8 items: 1.
  EXPECT_EQ(chunks(1, 8192, 8), std::pair(256, 32));
  EXPECT_EQ(chunks(8, 4096, 8), std::pair(1024, 4));
  EXPECT_EQ(chunks(32, 4096, 8), std::pair(4096, 1));
  EXPECT_EQ(chunks(64, 4096, 8), std::pair(4096, 1));  // more items than places
  // 32 heads on one are two items; no piece is below 64 tokens.
  EXPECT_EQ(chunks(1, 300, 1), std::pair(64, 5));
}

TEST(AttentionPieces, WaitInAQueueLongOnesFirst) {
  const attention::GpuKernel queue = {
      .splits = true, .pieces_per_sm = 1, .queue_blocks = 2, .shared_heads = [](int) {
        return 16;
      }};
  const auto pieces = [&](std::int64_t batch, std::int64_t context, int bytes) {
    const auto p = attention::pieces_of(
        queue, {.batch = batch, .context = context, .heads = 32, .kv_heads = 8, .head_dim = 128},
        bytes, 132);
    const attention::GpuArguments a = {
        .context = static_cast<int>(context), .chunk = p.chunk, .chunks = p.chunks};
    return std::array{p.chunk, attention::long_pieces(a), p.chunks};
  };
  // 7943 tokens a block: pieces of 256 for its last 1024, which are 1056 of a context's 8192.
  EXPECT_EQ(pieces(32, 8192, 2), (std::array{256, 6, 6 + 8}));
  // 1985 tokens: pieces of 128 for 512, 2113 of 8192, and what four times 128 leave of the rest.
  EXPECT_EQ(pieces(8, 8192, 2), (std::array{128, 11, 11 + 20}));
  // Tokens of half the bytes: pieces of 256 at least and 512 at most.
  EXPECT_EQ(pieces(32, 8192, 1), (std::array{256, 6, 6 + 8}));
  EXPECT_EQ(pieces(32, 32768, 1), (std::array{512, 14, 14 + 8}));
  // 3971 and 1117 tokens a block, of contexts too short for long pieces or nearly so.
  EXPECT_EQ(pieces(256, 512, 2), (std::array{512, 0, 1}));
  EXPECT_EQ(pieces(36, 1024, 2), (std::array{128, 1, 1 + 4}));
  // 248 tokens a block, 993 in bytes: a piece an SM.
  EXPECT_EQ(pieces(1, 8192, 2), (std::array{512, 0, 16}));
  EXPECT_EQ(pieces(32, 1024, 1), (std::array{1024, 0, 1}));

  // The first begins at 0, the last ends with the context or beyond it.
  const attention::GpuArguments a = {.chunk = 128, .chunks = 31};
  EXPECT_EQ(attention::piece_begin(a, 11, 0), 0);
  EXPECT_EQ(attention::piece_begin(a, 11, 1), 512);
  EXPECT_EQ(attention::piece_begin(a, 11, 11), 5632);
  EXPECT_EQ(attention::piece_begin(a, 11, 12), 5760);
  EXPECT_EQ(attention::piece_begin(a, 11, 31), 8192);
}

const KernelInfo& kernel_named(std::string_view op, std::string_view variant) {
  for (const auto& kernel : all_kernels())
    if (kernel.op == op && kernel.variant == variant) return kernel;
  throw std::logic_error("no such kernel");
}

TEST(GpuMatmul, WritesSixteenBitsWhereAskedTo) {
  const KernelInfo& kernel = kernel_named("matmul", "sm90a_v13_store");
  const Operation& matmul = operation_of(kernel);
  const auto supports = [&](const char* dtype, const char* out, const char* pack = "") {
    Case c{.dtype = dtype, .keys = {{"M", "64"}, {"N", "64"}, {"K", "64"}, {"out", out}}};
    if (*pack) c.keys.emplace_back("pack", pack);
    return matmul.supports(kernel, c);
  };
  EXPECT_TRUE(supports("bf16", "bf16"));
  EXPECT_TRUE(supports("f16", "f16"));
  EXPECT_THROW(supports("bf16", "f16"), BadInput);
  EXPECT_THROW(supports("f32", "f32"), BadInput);
  EXPECT_THROW(supports("bf16", "bf16", "pre"), BadInput);
  const KernelInfo& older = kernel_named("matmul", "sm90a_v12_cluster");
  EXPECT_FALSE(matmul.supports(
      older, {.dtype = "bf16", .keys = {{"M", "64"}, {"N", "64"}, {"K", "64"}, {"out", "bf16"}}}));
}

TEST(GpuAttention, ByTmaTakesPagesOfWholeBoxes) {
  const KernelInfo& kernel = kernel_named("attention", "sm90a_v5_tma");
  const auto supports = [&](const char* dtype, const char* head_dim, const char* page) {
    return operation_of(kernel).supports(kernel, {.dtype = dtype,
                                                  .keys = {{"batch", "1"},
                                                           {"context", "100"},
                                                           {"heads", "8"},
                                                           {"kv_heads", "2"},
                                                           {"head_dim", head_dim},
                                                           {"layout", "paged"},
                                                           {"page", page}}});
  };
  EXPECT_TRUE(supports("bf16", "64", "16"));
  EXPECT_TRUE(supports("s8", "128", "64"));
  EXPECT_FALSE(supports("bf16", "64", "5"));
  EXPECT_FALSE(supports("s8", "64", "16"));  // rows of half a period of the swizzle
}

const KernelInfo& decode_kernel() {
  for (const auto& kernel : all_kernels())
    if (kernel.gpu() && kernel.op == "decode") return kernel;
  throw std::logic_error("no decode");
}

TEST(GpuDecode, TakesAsManyLayersAsFit) {
  const Operation& operation = operation_of(decode_kernel());
  std::string names;
  for (const Case& c : operation.cases(kH100)) {
    names += c.name() + "\n";
    EXPECT_TRUE(operation.supports(decode_kernel(), c)) << c.name();
    EXPECT_EQ(operation.unfit(decode_kernel(), c, kH100), "") << c.name();
  }
  const auto listed = [&](const char* name) {
    EXPECT_NE(names.find(std::string(name) + "/V:128256/threads:1\n"), std::string::npos)
        << name << " is not in\n"
        << names;
  };
  listed("bf16/B:1/T:1024/layers:32/kv:bf16");
  listed("bf16xs8/B:64/T:1024/layers:32/kv:s8");
  // 4.29 GB of cache and 0.436 GB of weights a layer, 1.05 GB of head; 76.34 GB are there.
  listed("bf16/B:32/T:32768/layers:15/kv:bf16");

  const Caches tiny = {.l1d = 1 << 20, .l2 = 1 << 20, .memory = 1 << 30, .cores = 4};
  const Case first = operation.cases(tiny).front();
  EXPECT_EQ(first.size("layers"), 1);
  EXPECT_NE(operation.unfit(decode_kernel(), first, tiny), "");
}

TEST(GpuDecode, LeavesOutWhatItsKernelsLeaveOut) {
  const auto supports = [](const char* key, const char* value) {
    Case c{.dtype = "bf16", .keys = {{"B", "64"}, {"T", "9"}, {"layers", "1"}, {"kv", "s8"}}};
    std::erase_if(c.keys, [&](const auto& item) { return item.first == key; });
    c.keys.emplace_back(key, value);
    return operation_of(decode_kernel()).supports(decode_kernel(), c);
  };
  EXPECT_TRUE(supports("T", "9"));
  EXPECT_FALSE(supports("B", "65"));  // the matmul's rows
  EXPECT_FALSE(supports("H", "96"));  // attention's head sizes
  EXPECT_TRUE(supports("D", "4112"));
  EXPECT_FALSE(supports("D", "4100"));  // rows of whole 16-byte chunks
  EXPECT_FALSE(supports("F", "14340"));
  EXPECT_FALSE(supports("V", "1000"));
}

TEST(GpuOperations, RefuseKeysAndValuesThatTheyDoNotHave) {
  const auto refuses = [](std::string_view op, const Case& c) {
    for (const auto& kernel : all_kernels())
      if (kernel.gpu() && kernel.op == op) {
        try {
          operation_of(kernel).supports(kernel, c);
        } catch (const BadInput&) {
          return true;
        }
        return false;
      }
    return false;
  };
  EXPECT_TRUE(refuses("dot", {.dtype = "f32", .keys = {{"N", "0"}}}));
  EXPECT_TRUE(refuses("dot", {.dtype = "e5m2", .keys = {{"N", "8"}}}));
  EXPECT_TRUE(refuses("dot", {.dtype = "f32", .keys = {{"N", "8"}, {"region", "mine"}}}));
  EXPECT_TRUE(refuses("stream", {.dtype = "f32", .keys = {{"access", "jump"}, {"size", "64"}}}));
  EXPECT_TRUE(refuses("fma_peak", {.dtype = "f32", .keys = {{"data", "ones"}}}));
  EXPECT_TRUE(refuses("fma_peak", {.dtype = "f32", .keys = {{"data", "zeros"}, {"hold", "on"}}}));
  EXPECT_TRUE(refuses("link", {.dtype = "u8", .keys = {{"access", "d2d"}, {"size", "64"}}}));
  EXPECT_TRUE(refuses("matmul", {.dtype = "f32", .keys = {{"M", "8"}, {"N", "8"}, {"K", "-1"}}}));
  EXPECT_TRUE(
      refuses("matmul",
              {.dtype = "s8", .keys = {{"M", "8"}, {"N", "8"}, {"K", "131072"}, {"pack", "pre"}}}));
  EXPECT_TRUE(refuses(
      "decode",
      {.dtype = "bf16", .keys = {{"B", "1"}, {"T", "8"}, {"layers", "1"}, {"temp", "cold"}}}));
  EXPECT_TRUE(
      refuses("decode", {.dtype = "f32", .keys = {{"B", "1"}, {"T", "8"}, {"layers", "1"}}}));
  EXPECT_TRUE(refuses("attention", {.dtype = "bf16",
                                    .keys = {{"batch", "1"},
                                             {"context", "8"},
                                             {"heads", "6"},
                                             {"kv_heads", "4"},
                                             {"head_dim", "64"}}}));
}

}  // namespace
}  // namespace kernels
