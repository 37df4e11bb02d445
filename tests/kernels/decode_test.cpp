#include "kernels/decode/decode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/decode/decode_glue.hpp"
#include "kernels/registry.hpp"

namespace kernels::decode {
namespace {

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 3};
constexpr ElementBytes kBf16 = {2, 0, 2, 0}, kInt8 = {1, 4, 1, 4};

// Two sequences of 5 tokens through three layers; 4 query heads of 2 on 2 kv heads.
constexpr Shape kSmall{.batch = 2,
                       .context = 5,
                       .layers = 3,
                       .d_model = 6,
                       .d_ff = 10,
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 2,
                       .vocabulary = 7};

TEST(DecodeCost, IsHandWorked) {
  // QKV: 6 x (4 + 2 + 2) x 2 = 96 weights a layer.
  EXPECT_EQ(cost(kSmall, kQkv, kBf16).flops, 3 * 2 * 2 * 96);
  EXPECT_EQ(cost(kSmall, kQkv, kBf16).bytes, 3 * 2 * 96);
  EXPECT_EQ(cost(kSmall, kQkv, kInt8).bytes, 3 * (96 + 4 * 16));
  EXPECT_EQ(cost(kSmall, kOut, kBf16).bytes, 3 * 2 * (8 * 6));
  EXPECT_EQ(cost(kSmall, kMlpUp, kBf16).bytes, 3 * 2 * (6 * 20));
  EXPECT_EQ(cost(kSmall, kMlpDown, kInt8).bytes, 3 * (10 * 6 + 4 * 6));
  EXPECT_EQ(cost(kSmall, kHead, kBf16).flops, 2 * 2 * (6 * 7));  // once, not a layer
  // The cache by kv heads: keys and values of 2 x 5 tokens x 2 heads x 2, not of 4 heads.
  EXPECT_EQ(cost(kSmall, kAttention, kBf16).bytes, 3 * 2 * (2 * 5 * 2 * 2) * 2);
  EXPECT_EQ(cost(kSmall, kAttention, kInt8).bytes, 3 * 2 * (2 * 5 * 2) * (2 + 4));
  EXPECT_EQ(cost(kSmall, kAttention, kBf16).flops, 3 * 4 * 2 * 5 * 4 * 2);
  // A row's glue: 7 norms of 6; a layer's residuals 2 x 6, 10 gates of 4; int8: 2 for 8 of K and V.
  EXPECT_EQ(cost(kSmall, kGlue, kBf16).flops, 2 * (7 * 18 + 3 * (12 + 40)));
  EXPECT_EQ(cost(kSmall, kGlue, kInt8).flops, 2 * (7 * 18 + 3 * (12 + 40 + 16)));
}

TEST(DecodeCost, OfAnEightBillionLayerIsTheModels) {
  // 3DF + 2DNH + 2DKH = 218,103,808 parameters a layer; 4096 B of bf16 cache a token and layer.
  const Shape s{.batch = 3, .context = 100, .layers = 32};
  EXPECT_EQ(cost(s, kBf16).bytes, 32 * (2 * 218103808.0 + 3 * 100 * 4096));
  Shape whole = s;
  whole.vocabulary = 128256;
  EXPECT_EQ(cost(whole, kBf16).bytes - cost(s, kBf16).bytes, 2.0 * 4096 * 128256);
}

const KernelInfo& kernel(std::string_view variant) {
  for (const KernelInfo& info : all_kernels())
    if (info.op == "decode" && info.variant == variant) return info;
  throw std::logic_error("no such variant");
}

const Case kCase = {.dtype = "bf16xs8",
                    .keys = {{"B", "2"},
                             {"T", "9"},
                             {"layers", "3"},
                             {"kv", "s8"},
                             {"D", "12"},
                             {"F", "20"},
                             {"N", "4"},
                             {"K", "2"},
                             {"H", "6"},
                             {"V", "5"}},
                    .threads = 2};

TEST(DecodeParts, AddUpToTheStep) {
  const auto problem = operation_of(kernel("portable")).bind(kernel("portable"), kCase, kCaches);
  double flops = 0, bytes = 0, l1 = 0;
  std::string names;
  for (const Part& part : problem->parts()) {
    names += part.name + " ";
    flops += part.cost.flops;
    l1 += part.traffic.l1;
    if (part.name != "glue") bytes += part.cost.bytes;
    EXPECT_EQ(part.op, part.name == "glue"        ? "glue"
                       : part.name == "attention" ? "attention"
                                                  : "matmul");
  }
  EXPECT_EQ(names, "qkv attention out mlp_up mlp_down head glue ");
  EXPECT_DOUBLE_EQ(flops, problem->cost().flops);
  EXPECT_DOUBLE_EQ(bytes, problem->cost().bytes);
  EXPECT_DOUBLE_EQ(l1, problem->traffic().l1);
}

TEST(DecodeParts, AreToldAtTheirEnds) {
  const auto problem = operation_of(kernel("portable")).bind(kernel("portable"), kCase, kCaches);
  std::vector<std::size_t> ends;
  problem->watch([&](std::size_t part) { ends.push_back(part); });
  problem->run(0, 1);
  const std::vector<std::size_t> layer = {6, 0, 6, 1, 6, 2, 6, 3, 6, 4};
  std::vector<std::size_t> expected;
  for (int l = 0; l < 3; ++l) expected.insert(expected.end(), layer.begin(), layer.end());
  expected.insert(expected.end(), {6, 5});
  EXPECT_EQ(ends, expected);
  problem->watch({});
  problem->run(0, 2);
  EXPECT_EQ(ends.size(), expected.size());
}

TEST(DecodeMemory, IsReadButForScalesAndTheEndsOfBuffers) {
  const KernelInfo& portable = kernel("portable");
  for (const char* kv : {"bf16", "s8"}) {
    Case c = kCase;
    c.keys = {{"B", "1"},    {"T", "64"}, {"layers", "2"}, {"kv", kv}, {"D", "512"},
              {"F", "2048"}, {"N", "4"},  {"K", "2"},      {"H", "64"}};
    const auto problem = operation_of(portable).bind(portable, c, kCaches);
    int loops = 0;
    for (double bytes; (bytes = problem->read_own_memory(loops, 0)) > 0; ++loops) {
      EXPECT_LE(bytes, problem->cost().bytes);
      EXPECT_GE(bytes, 0.97 * problem->cost().bytes);
    }
    EXPECT_EQ(loops > 0, missing(Need::avx2).empty() || missing(Need::neon).empty());
  }
}

TEST(DecodeGlue, ExponentialIsCloseAndEndsWithinBounds) {
  for (float x = -87; x < 87; x += 0.0137f)
    EXPECT_NEAR(fast_exp(x) / std::exp(static_cast<double>(x)), 1, 3e-7 + 7.4e-8 * std::abs(x))
        << x;
  EXPECT_EQ(fast_exp(-1e30f), 0x1p-126f);
  EXPECT_EQ(fast_exp(1e30f), 0x1p126f);
}

/// The glue of every variant that this CPU can run.
class DecodeGlueOf : public testing::TestWithParam<KernelInfo> {
 protected:
  void SetUp() override {
    if (const auto why = missing(GetParam().needs); !why.empty()) GTEST_SKIP() << why;
  }
  const Glue& glue() const { return static_cast<const Kernel*>(GetParam().table)->glue; }
};

std::vector<KernelInfo> cpu_variants() {
  std::vector<KernelInfo> found;
  for (const KernelInfo& info : all_kernels())
    if (info.op == "decode" && !info.gpu()) found.push_back(info);
  return found;
}

/// Long enough for whole vectors and a rest.
std::vector<float> numbers(std::int64_t n) {
  std::vector<float> out(n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = std::sin(static_cast<float>(i)) * 5;
  return out;
}

TEST_P(DecodeGlueOf, GatesAndEndsWithinBounds) {
  std::vector<float> gates = numbers(77), up = numbers(77);
  std::ranges::reverse(up);
  std::ranges::copy(std::vector<float>{-1e30f, -3, 0, 3, 1e30f, 100, -100}, gates.begin());
  up[0] = up[4] = 1;
  std::vector<bf16> out(gates.size());
  glue().gate(gates.data(), up.data(), 77, out.data());
  for (std::size_t i = 1; i < gates.size(); ++i) {
    const double expected = gates[i] / (1 + std::exp(-static_cast<double>(gates[i]))) * up[i];
    EXPECT_NEAR(static_cast<float>(out[i]), expected, 0x1.01p-8 * std::abs(expected) + 1e-30) << i;
  }
  EXPECT_NEAR(static_cast<float>(out[0]), 0, 1e30 * 0x1.01p-126);
}

TEST_P(DecodeGlueOf, NarrowsAsTheConversion) {
  std::vector<float> x = numbers(77);
  const float inf = std::numeric_limits<float>::infinity(), ties[] = {0x1.01p0f, 0x1.03p0f};
  std::ranges::copy(std::vector<float>{std::nanf("1"), inf, -inf, ties[0], ties[1], 3.4e38f, -0.0f},
                    x.begin());
  std::vector<bf16> out(x.size());
  glue().narrow(x.data(), 77, out.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i].bits, bf16(x[i]).bits) << x[i];
}

TEST_P(DecodeGlueOf, AddsAndNormalises) {
  const std::vector<float> more = numbers(77);
  std::vector<float> x(77, 2);
  glue().add(x.data(), more.data(), 77);
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i], 2 + more[i]);
    squares += static_cast<double>(x[i]) * x[i];
  }
  std::vector<bf16> out(x.size());
  glue().normalise(x.data(), 77, out.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = x[i] / std::sqrt(squares / 77 + kNormEpsilon);
    EXPECT_NEAR(static_cast<float>(out[i]), expected, 0x1.01p-8 * std::abs(expected));
  }
}

TEST_P(DecodeGlueOf, StoresInt8RoundedToEven) {
  std::vector<float> row = numbers(77);
  std::vector<std::int8_t> out(row.size());
  float scale = 0;
  const auto check = [&] {
    glue().store_s8(row.data(), 77, out.data(), &scale);
    const float factor = 1 / scale;
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(out[i], std::lrint(row[i] * factor));
  };
  check();
  EXPECT_FLOAT_EQ(scale, 5 * std::sin(11.0f) / -127);
  std::ranges::copy(std::vector<float>{-127, 0.5f, 1.5f, -0.5f, -1.5f, 126.5f}, row.begin());
  check();
  EXPECT_EQ(scale, 1);
  EXPECT_EQ(std::vector(out.begin(), out.begin() + 6),
            (std::vector<std::int8_t>{-127, 0, 2, 0, -2, 126}));
  std::ranges::fill(row, 0.0f);
  check();
  EXPECT_EQ(scale, 1);
}

INSTANTIATE_TEST_SUITE_P(Variants, DecodeGlueOf, testing::ValuesIn(cpu_variants()),
                         [](const auto& info) { return std::string(info.param.variant); });

TEST(DecodeTraffic, CrossesMainMemoryOnlyBeyondTheLastCache) {
  Case large = kCase;
  large.keys = {{"B", "1"},    {"T", "64"}, {"layers", "1"}, {"kv", "s8"}, {"D", "512"},
                {"F", "2048"}, {"N", "4"},  {"K", "2"},      {"H", "64"}};
  const KernelInfo& portable = kernel("portable");
  const auto problem = operation_of(portable).bind(portable, large, kCaches);
  // 512 x (512 + 256) + 3 x 512 x 2048 weights stay in 4 MiB; 512 KiB of L3 and 1 MiB of L2s hold
  // less than half of them.
  EXPECT_TRUE(std::isnan(problem->traffic().dram));
  Caches small = kCaches;
  small.l3 = 512 << 10;
  const auto beyond = operation_of(portable).bind(portable, large, small);
  EXPECT_DOUBLE_EQ(beyond->traffic().dram, beyond->cost().bytes);
}

TEST(DecodeCase, RefusesWhatItDoesNotKnow) {
  const auto refusal = [](std::string_view key, const char* value, const char* dtype = "bf16") {
    Case c = kCase;
    c.dtype = dtype;
    std::erase_if(c.keys, [&](const auto& item) { return item.first == key; });
    if (value != nullptr) c.keys.emplace_back(key, value);
    try {
      operation_of(kernel("portable")).supports(kernel("portable"), c);
    } catch (const BadInput& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("T", "9"), "");
  EXPECT_EQ(refusal("T", nullptr), "shape: missing 'T:<number>'");
  EXPECT_EQ(refusal("K", "3"), "shape: N:4 is not a multiple of K:3");
  EXPECT_EQ(refusal("kv", "s4"), "shape: kv:s4 (known: bf16, s8)");
  EXPECT_EQ(refusal("kv", "s8", "f32"), "decode: dtype 'f32' (known: bf16, bf16xs8)");
  EXPECT_NE(refusal("temp", "cold").find("decode has no 'temp'"), std::string::npos);
  const auto huge = [] {
    Case c = kCase;
    c.keys = {{"B", "1"}, {"T", "100"}, {"layers", "32"}, {"kv", "bf16"}};
    return operation_of(kernel("portable")).bind(kernel("portable"), c, kCaches);
  };
  EXPECT_THROW(huge(), BadInput);
}

TEST(DecodeCases, KeepOutOfCachesAndWithinMemory) {
  for (const Case& c : operation_of(kernel("portable")).cases(kCaches)) {
    Shape s{.batch = c.size("B"), .context = c.size("T"), .layers = c.size("layers")};
    if (!c.text("V").empty()) s.vocabulary = c.size("V");
    const double bytes = cost(s, c.dtype == "bf16" ? kBf16 : kInt8).bytes;
    EXPECT_GT(bytes, 4.0 * (4 << 20)) << c.name();
    EXPECT_LE(bytes, 2.0 * (std::int64_t{1} << 30)) << c.name();
  }
  Caches large = kCaches;
  large.l3 = std::int64_t{384} << 20;
  large.memory = std::int64_t{512} << 30;
  std::string names;
  for (const Case& c : operation_of(kernel("portable")).cases(large)) names += c.name() + "\n";
  EXPECT_NE(names.find("bf16/B:1/T:1024/layers:4/kv:bf16/threads:3"), std::string::npos) << names;
  EXPECT_NE(names.find("bf16/B:1/T:1024/layers:32/kv:bf16/V:128256/threads:3"), std::string::npos);
}

}  // namespace
}  // namespace kernels::decode
