#include "kernels/attention/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "kernels/attention/attention_exp.hpp"
#include "kernels/attention/attention_pages.hpp"
#include "kernels/attention/attention_walk.hpp"
#include "kernels/buffer.hpp"
#include "kernels/registry.hpp"

namespace kernels::attention {
namespace {

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 3};

TEST(AttentionCost, IsHandWorked) {
  // 4 tokens of 8 values, 2 query heads on 1 kv head: 4 x 2 x 4 x 8 operations; K and V 2 x 4 x 8
  // values, q and out 2 x 2 x 8 floats = 128 B.
  const Shape s{.batch = 1, .context = 4, .heads = 2, .kv_heads = 1, .head_dim = 8};
  EXPECT_EQ(cost(s, 2, 0).flops, 256);
  EXPECT_EQ(cost(s, 4, 0).bytes, 256 + 128);
  EXPECT_EQ(cost(s, 2, 0).bytes, 128 + 128);
  EXPECT_EQ(cost(s, 1, 4).bytes, 64 + 2 * 4 * 4 + 128);
  // Two sequences of 17 tokens in pages of 16: 2 x 2 page numbers.
  const Shape paged{
      .batch = 2, .context = 17, .heads = 2, .kv_heads = 1, .head_dim = 8, .page = 16};
  EXPECT_EQ(cost(paged, 2, 0).bytes, 2 * (2 * 17 * 8 * 2 + 128) + 16);
  EXPECT_EQ(cost(paged, 2, 0).flops, 2 * 4 * 2 * 17 * 8);
}

TEST(AttentionCost, IntensityTendsToTheGroup) {
  const auto intensity = [](std::int64_t kv_heads, int bytes, int scale_bytes) {
    const Cost c =
        cost({.batch = 1, .context = 1 << 20, .heads = 8, .kv_heads = kv_heads, .head_dim = 128},
             bytes, scale_bytes);
    return c.flops / c.bytes;
  };
  EXPECT_NEAR(intensity(8, 2, 0), 1, 1e-3);
  EXPECT_NEAR(intensity(2, 2, 0), 4, 1e-3);
  EXPECT_NEAR(intensity(1, 4, 0), 4, 1e-3);
  EXPECT_NEAR(intensity(1, 1, 4), 16.0 * 128 / 132, 1e-3);  // a scale of 4 B on 128 B
}

TEST(AttentionSplit, GivesEachThreadSeveralPieces) {
  const auto chunk = [](std::int64_t batch, std::int64_t context, int threads) {
    return chunk_tokens(
        {.batch = batch, .context = context, .heads = 32, .kv_heads = 8, .head_dim = 128}, threads,
        false);
  };
  EXPECT_EQ(chunk(1, 8192, 4), 2048);   // 32 pieces wanted, 8 kv heads: 4 each
  EXPECT_EQ(chunk(8, 8192, 4), 8192);   // 64 pieces as it is
  EXPECT_EQ(chunk(1, 1024, 4), 1024);   // not 256, as 8 pieces are two for each thread
  EXPECT_EQ(chunk(1, 4096, 16), 1024);  // 16 chunks would have 256
  EXPECT_EQ(chunk(1, 8192, 64), 512);   // 64 chunks would have 128, two pieces a thread 512
  EXPECT_EQ(chunk(1, 1024, 64), 256);   // never below 256
  EXPECT_EQ(chunk(1, 8193, 4), 2112);   // rounded up to 64
}

TEST(AttentionSplit, APieceOfWholePagesHasAllKvHeads) {
  Shape paged{
      .batch = 1, .context = 32768, .heads = 32, .kv_heads = 8, .head_dim = 128, .page = 16};
  EXPECT_EQ(chunk_tokens(paged, 4, true), 1024);   // 32 pieces wanted
  EXPECT_EQ(chunk_tokens(paged, 4, false), 8192);  // of 8 kv heads 4 each
  EXPECT_EQ(scratch_floats(paged, 4, true), 32 * 32 * (128 + 2));

  EXPECT_TRUE(takes_whole_pages(paged, 2, Reading::in_order));  // 2 x 16 x 128 x 2 = 8192 bytes
  EXPECT_FALSE(takes_whole_pages(paged, 1, Reading::in_order));
  EXPECT_FALSE(takes_whole_pages(paged, 2, Reading::streams));
  paged.kv_heads = 1;
  EXPECT_FALSE(takes_whole_pages(paged, 2, Reading::in_order));
  paged.kv_heads = 8, paged.page = 0;
  EXPECT_FALSE(takes_whole_pages(paged, 2, Reading::in_order));
}

/// Blocks that PageWalk makes of the tokens [begin, end) of the second of two sequences.
template <int kBlock>
void expect_every_token_once(std::int64_t page_tokens, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kHeads = 3, kPages = 9;
  std::vector<std::int32_t> table(2 * kPages);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(i * 5 % 18);
  const std::vector<float> pool(table.size() * kHeads * page_tokens * 8 + 64);
  Args<float> a{};
  a.kv_heads = kHeads, a.head_dim = 8, a.page_tokens = page_tokens, a.sequence_pages = kPages;
  a.table = table.data(), a.k = a.v = pool.data();
  PageWalk<float, kBlock> walk(a, 1, begin, end);
  typename PageWalk<float, kBlock>::Block block;
  std::map<std::int64_t, int> seen;  // rows
  int moves = 0;                     // to another page than the one before, or the next head's
  std::int64_t before = -1;
  const auto rows = static_cast<std::int64_t>(table.size()) * kHeads * page_tokens;
  for (walk.next(block); block.count > 0; walk.next(block)) {
    ASSERT_LE(block.count, kBlock);
    for (int i = 0; i < kBlock; ++i) ASSERT_TRUE(block.rows[i] >= 0 && block.rows[i] < rows);
    for (int i = 0; i < block.count; ++i) {
      ++seen[block.rows[i]];
      EXPECT_EQ(block.rows[i] / page_tokens % kHeads, block.kv_head);
      if (block.rows[i] != before + 1) ++moves;
      before = block.rows[i];
    }
  }
  for (int i = 0; i < kBlock; ++i) ASSERT_TRUE(block.rows[i] >= 0 && block.rows[i] < rows);
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(kHeads * (end - begin)));
  for (std::int64_t t = begin; t < end; ++t)
    for (std::int64_t h = 0; h < kHeads; ++h)
      EXPECT_EQ(
          seen[(table[kPages + t / page_tokens] * kHeads + h) * page_tokens + t % page_tokens], 1);
  // In the order of memory, but for the last page's, of which a part may be behind the end.
  const std::int64_t pages = (end - 1) / page_tokens - begin / page_tokens + 1;
  EXPECT_LE(moves, pages + kHeads - 1);
}

TEST(AttentionPages, AreReadWithAllTheirHeadsInTheOrderOfMemory) {
  expect_every_token_once<16>(16, 0, 144);
  expect_every_token_once<16>(16, 32, 97);
  expect_every_token_once<32>(16, 16, 143);  // a block is more than a page
  expect_every_token_once<32>(16, 0, 1);
  expect_every_token_once<8>(16, 48, 144);  // a page is two blocks
  expect_every_token_once<16>(24, 24, 200);
  expect_every_token_once<16>(5, 0, 45);
  expect_every_token_once<64>(1, 2, 9);
}

/// What Walk makes of the tokens [begin, end) of the second of two kv heads, a block after the
/// other.
template <int kBlock, int kRun>
std::vector<std::vector<std::int64_t>> blocks_of(std::int64_t page_tokens, std::int64_t begin,
                                                 std::int64_t end) {
  const std::int64_t pages = (end + page_tokens - 1) / page_tokens;
  std::vector<std::int32_t> table(pages);
  for (std::int64_t i = 0; i < pages; ++i) table[i] = static_cast<std::int32_t>(pages - 1 - i);
  const std::vector<float> pool(2 * pages * page_tokens * 8);
  Args<float> a{};
  a.kv_heads = 2, a.head_dim = 8, a.page_tokens = page_tokens, a.sequence_pages = pages;
  a.table = pages > 1 ? table.data() : nullptr, a.k = a.v = pool.data();
  a.reading = Reading::streams;
  Walk<float, 1, 8, Ask::into_l1, kBlock, kRun> walk(a, 0, 1, begin, end);
  std::vector<std::vector<std::int64_t>> blocks;
  std::int64_t rows[kBlock];
  while (const int count = walk.next(rows)) blocks.emplace_back(rows, rows + count);
  // Every token once, whole blocks but for the last, in runs of one page where pages hold them.
  std::map<std::int64_t, int> seen;
  for (const auto& block : blocks) {
    EXPECT_TRUE(block.size() == kBlock || &block == &blocks.back());
    for (const std::int64_t row : block) ++seen[row];
    for (std::size_t i = 1; page_tokens % kRun == 0 && i < block.size(); ++i) {
      if (i % kRun != 0) {
        EXPECT_EQ(block[i], block[i - 1] + 1);
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(end - begin));
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t page = pages - 1 - t / page_tokens;
    EXPECT_EQ(seen[(page * 2 + 1) * page_tokens + t % page_tokens], 1);
  }
  return blocks;
}

TEST(AttentionWalk, TakesEveryTokenOnceInStaggeredParts) {
  // 16 blocks of 256 tokens in four parts of 64, each begun a share of four tokens further in.
  const auto blocks = blocks_of<16, 1>(256, 0, 256);
  const std::int64_t second = 256;  // kv head
  ASSERT_EQ(blocks.size(), 16);
  EXPECT_EQ(blocks[0][0], second + 0);
  EXPECT_EQ(blocks[0][1], second + 64 + 4);
  EXPECT_EQ(blocks[0][2], second + 128 + 8);
  EXPECT_EQ(blocks[0][3], second + 192 + 12);
  EXPECT_EQ(blocks[0][4], second + 1);
  EXPECT_EQ(blocks[15][0], second + 60);
  EXPECT_EQ(blocks[15][1], second + 64);
  EXPECT_EQ(blocks[15][2], second + 128 + 4);
  EXPECT_EQ(blocks[15][3], second + 192 + 8);
  blocks_of<16, 4>(256, 0, 256);
  blocks_of<16, 4>(16, 32, 241);
  blocks_of<16, 1>(5, 3, 97);
  blocks_of<32, 4>(40, 8, 39);
  blocks_of<16, 1>(100, 20, 36);
  blocks_of<64, 4>(1, 0, 131);
}

/// One float as a vector: the exponential's arithmetic, on any machine.
struct One {
  using V = float;
  static V set1(float x) { return x; }
  static V max(V a, V b) { return std::max(a, b); }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V fma(V a, V b, V c) { return std::fma(a, b, c); }
  static V fraction(V x) { return x - std::floor(x); }
  static V times_pow2(V y, V x) { return std::ldexp(y, static_cast<int>(std::floor(x))); }
};

TEST(AttentionExp, StaysWithinItsError) {
  double worst = 0;
  for (int i = 0; i <= 2'000'000; ++i) {
    const float x = 8 - 134.0f * static_cast<float>(i) / 2'000'000;
    const double exact = std::exp2(static_cast<double>(x));
    worst = std::max(worst, std::abs(exp2_normal<One>(x) - exact) / exact);
  }
  EXPECT_LT(worst, kExpError);
  EXPECT_GT(worst, kExpError / 10) << "the stated error is far from the real one";
  EXPECT_EQ(exp2_normal<One>(0), 1);
  EXPECT_EQ(exp2_normal<One>(-1), 0.5f);
  EXPECT_EQ(exp2_normal<One>(-1e30f), 0x1p-126f);
  EXPECT_EQ(exp2_normal<One>(-INFINITY), 0x1p-126f);
}

std::vector<const KernelInfo*> attention_kernels() {
  std::vector<const KernelInfo*> list;
  for (const auto& kernel : all_kernels())
    if (kernel.op == "attention" && !kernel.gpu() && missing(kernel.needs).empty())
      list.push_back(&kernel);
  return list;
}

template <class T>
constexpr auto function_of(const Kernel& kernel) {
  if constexpr (std::is_same_v<T, float>)
    return kernel.f32;
  else if constexpr (std::is_same_v<T, bf16>)
    return kernel.bf16;
  else
    return kernel.s8;
}

/// A small contiguous problem of one's own making, with two query heads on one kv head. int8 keys
/// are whole numbers, int8 values 127ths.
template <class T>
struct Direct {
  static constexpr std::int64_t kHeads = 2, kDim = 64;
  static constexpr bool kScaled = std::is_same_v<T, std::int8_t>;
  explicit Direct(std::int64_t context)
      : shape{.batch = 1, .context = context, .heads = kHeads, .kv_heads = 1, .head_dim = kDim},
        q(kHeads * kDim),
        k(context * kDim),
        v(context * kDim),
        k_scale(context, 1.0f),
        v_scale(context, kScaled ? 1 / 127.0f : 1.0f) {
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = random_value<float>(1, i);
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = random_value<T>(2, i);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = random_value<T>(3, i);
  }

  void set_key(std::int64_t t, float value) {
    std::fill_n(k.begin() + t * kDim, kDim, static_cast<T>(value));
  }
  double value(std::int64_t t, std::int64_t d) const {
    return static_cast<double>(v[t * kDim + d]) * v_scale[t];
  }

  std::vector<float> run(void (*function)(const Args<T>&), int threads) {
    std::vector<float> out(q.size(), NAN), scratch(scratch_floats(shape, threads, false), NAN);
    std::vector<Share> shares(threads);
    function({.batch = 1,
              .context = shape.context,
              .heads = kHeads,
              .kv_heads = 1,
              .head_dim = kDim,
              .page_tokens = shape.context,
              .sequence_pages = 1,
              .table = nullptr,
              .q = q.data(),
              .k = k.data(),
              .v = v.data(),
              .k_scale = kScaled ? k_scale.data() : nullptr,
              .v_scale = kScaled ? v_scale.data() : nullptr,
              .out = out.data(),
              .chunk_tokens = chunk_tokens(shape, threads, false),
              .scratch = scratch.data(),
              .shares = shares.data(),
              .threads = threads});
    return out;
  }

  /// Softmax of the scores as a variant rounds them would differ here, so callers use scores that
  /// are exact or far apart.
  std::vector<double> expected() const {
    std::vector<double> out(q.size());
    for (std::int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> p(shape.context);
      for (std::int64_t t = 0; t < shape.context; ++t) {
        for (std::int64_t d = 0; d < kDim; ++d)
          p[t] += double{q[h * kDim + d]} * static_cast<double>(k[t * kDim + d]);
        p[t] /= std::sqrt(static_cast<double>(kDim));
      }
      const double max = *std::max_element(p.begin(), p.end());
      double sum = 0;
      for (double& x : p) sum += x = std::exp(x - max);
      for (std::int64_t t = 0; t < shape.context; ++t)
        for (std::int64_t d = 0; d < kDim; ++d) out[h * kDim + d] += p[t] / sum * value(t, d);
    }
    return out;
  }

  Shape shape;
  std::vector<float> q;
  std::vector<T> k, v;
  std::vector<float> k_scale, v_scale;
};

template <class T>
void without_maximum(const Args<T>& a) {
  for (std::int64_t h = 0; h < a.heads; ++h) {
    float sum = 0;
    std::vector<float> acc(a.head_dim);
    for (std::int64_t t = 0; t < a.context; ++t) {
      float s = 0;
      for (std::int64_t d = 0; d < a.head_dim; ++d)
        s += a.q[h * a.head_dim + d] * static_cast<float>(a.k[t * a.head_dim + d]);
      const float p = std::exp(s / std::sqrt(static_cast<float>(a.head_dim)));
      sum += p;
      for (std::int64_t d = 0; d < a.head_dim; ++d)
        acc[d] += p * static_cast<float>(a.v[t * a.head_dim + d]);
    }
    for (std::int64_t d = 0; d < a.head_dim; ++d) a.out[h * a.head_dim + d] = acc[d] / sum;
  }
}

/// Of every kernel of that dtype.
template <class T>
void expect_right_outputs(Direct<T>& direct, double tolerance = 1e-5) {
  const std::vector<double> expected = direct.expected();
  int ways = 0;
  for (const auto* info : attention_kernels()) {
    const auto function = function_of<T>(*static_cast<const Kernel*>(info->table));
    if (function == nullptr || info->library()) continue;
    for (const int threads : {1, 3}) {
      ++ways;
      const auto out = direct.run(function, threads);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], tolerance) << info->variant << " " << i;
    }
  }
  EXPECT_GT(ways, 0);
}

template <class T>
class AttentionScores : public testing::Test {};
using Types = testing::Types<float, bf16, std::int8_t>;
TYPED_TEST_SUITE(AttentionScores, Types);

/// Scores of 64 c for c = -127…127, in an order that raises the maximum often.
TYPED_TEST(AttentionScores, HugeOnesDoNotOverflow) {
  Direct<TypeParam> direct(255);
  for (float& x : direct.q) x = 8;
  for (std::int64_t t = 0; t < 255; ++t) direct.set_key(t, static_cast<float>(t * 97 % 255 - 127));
  expect_right_outputs(direct);
  const auto wrong = direct.run(without_maximum<TypeParam>, 1);
  EXPECT_TRUE(std::isnan(wrong[0])) << "the scores are not huge enough to tell";
}

/// By a factor of 1.1 a token: a kernel that rescales its sums seldom does so a few times. Where
/// queries are rounded, weights would not be those of the oracle.
TEST(AttentionScoresOfFloats, ThatRiseSlowlyKeepTheirWeights) {
  Direct<float> direct(401);
  for (float& x : direct.q) x = 8;
  for (std::int64_t t = 0; t < 401; ++t) direct.set_key(t, static_cast<float>(t) * 0x1p-10f);
  expect_right_outputs(direct);
}

TYPED_TEST(AttentionScores, AllNegativeHugeOnesDoNotUnderflow) {
  Direct<TypeParam> direct(130);
  for (float& x : direct.q) x = 8;
  for (std::int64_t t = 0; t < 130; ++t) direct.set_key(t, t == 77 ? -50.0f : -60.0f);
  expect_right_outputs(direct, 1e-6);
}

TYPED_TEST(AttentionScores, TiesShareTheWeight) {
  for (const std::int64_t context : {1, 2, 31, 300}) {
    Direct<TypeParam> direct(context);
    for (std::int64_t t = 0; t < context; ++t)
      std::copy_n(direct.k.begin(), direct.kDim, direct.k.begin() + t * direct.kDim);
    expect_right_outputs(direct, 1e-6);
  }
}

enum class Defect {
  none,
  skips_last_token,
  skips_first_token,
  skips_second_half,
  page_in_order,
  wrong_kv_head,
  no_key_scale,
  no_value_scale,
  no_root,
  unnormalised,  // by a thousandth
  a_tenth_less,
};

template <Defect defect, class T>
void attend(const Args<T>& a) {
  const std::int64_t group = a.heads / a.kv_heads;
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t h = 0; h < a.heads; ++h) {
      const float* q = a.q + (b * a.heads + h) * a.head_dim;
      const std::int64_t kv_head = defect == Defect::wrong_kv_head ? h % a.kv_heads : h / group;
      const auto row_of = [&](std::int64_t t) {
        std::int64_t page = b * a.sequence_pages + t / a.page_tokens;
        if (a.table != nullptr && defect != Defect::page_in_order) page = a.table[page];
        return (page * a.kv_heads + kv_head) * a.page_tokens + t % a.page_tokens;
      };
      const std::int64_t first = defect == Defect::skips_first_token ? 1 : 0;
      const std::int64_t last = defect == Defect::skips_second_half  ? a.context / 2
                                : defect == Defect::skips_last_token ? a.context - 1
                                                                     : a.context;
      double sum = 0;
      std::vector<double> out(a.head_dim);
      for (std::int64_t t = first; t < last; ++t) {
        const std::int64_t row = row_of(t);
        double s = 0;
        for (std::int64_t d = 0; d < a.head_dim; ++d)
          s += q[d] * static_cast<double>(a.k[row * a.head_dim + d]);
        if (defect != Defect::no_root) s /= std::sqrt(static_cast<double>(a.head_dim));
        if (a.k_scale != nullptr && defect != Defect::no_key_scale) s *= a.k_scale[row];
        const double p = std::exp(s);
        sum += p;
        const bool scaled = a.v_scale != nullptr && defect != Defect::no_value_scale;
        for (std::int64_t d = 0; d < a.head_dim; ++d)
          out[d] +=
              p * (scaled ? a.v_scale[row] : 1.0f) * static_cast<double>(a.v[row * a.head_dim + d]);
      }
      if (defect == Defect::unnormalised) sum *= 1.001;
      if (defect == Defect::a_tenth_less) sum *= 1.1;
      for (std::int64_t d = 0; d < a.head_dim; ++d)
        a.out[(b * a.heads + h) * a.head_dim + d] = static_cast<float>(out[d] / sum);
    }
}

/// `like`: the kernel whose rounding is allowed for.
template <Defect defect>
std::string verdict(const char* dtype, int context, const char* layout, const Kernel& like = {}) {
  const Kernel kernel = {.exec_unit = "scalar",
                         .f32 = attend<defect, float>,
                         .bf16 = attend<defect, bf16>,
                         .s8 = attend<defect, std::int8_t>,
                         .any_head_dim = true,
                         .s8_rounding = like.s8_rounding,
                         .s8_weight_rounding = like.s8_weight_rounding,
                         .bf16_rounding = like.bf16_rounding};
  const KernelInfo info = {"attention", "own", Need::none, Threads::any, "", &kernel};
  Case c{.dtype = dtype,
         .keys = {{"batch", "2"},
                  {"context", std::to_string(context)},
                  {"heads", "4"},
                  {"kv_heads", "2"},
                  {"head_dim", "64"},
                  {"layout", layout}},
         .threads = 1};
  return operation_of(info).bind(info, c, kCaches)->verify();
}

TEST(AttentionVerify, AcceptsARightKernel) {
  for (const char* dtype : {"f32", "bf16", "s8"})
    for (const char* layout : {"contiguous", "paged"})
      for (const int context : {1, 17, 100, 8192})
        EXPECT_EQ(verdict<Defect::none>(dtype, context, layout), "");
}

TEST(AttentionVerify, CatchesWrongKernels) {
  for (const char* dtype : {"f32", "bf16", "s8"})
    for (const char* layout : {"contiguous", "paged"})
      for (const int context : {17, 100, 8192}) {
        EXPECT_NE(verdict<Defect::skips_last_token>(dtype, context, layout), "") << context;
        EXPECT_NE(verdict<Defect::skips_first_token>(dtype, context, layout), "") << context;
        EXPECT_NE(verdict<Defect::wrong_kv_head>(dtype, context, layout), "") << context;
        EXPECT_NE(verdict<Defect::no_root>(dtype, context, layout), "") << context;
        EXPECT_NE(verdict<Defect::unnormalised>(dtype, context, layout), "") << context;
      }
  EXPECT_NE(verdict<Defect::page_in_order>("f32", 100, "paged"), "");
  EXPECT_NE(verdict<Defect::page_in_order>("s8", 8192, "paged"), "");
  EXPECT_NE(verdict<Defect::no_key_scale>("s8", 100, "contiguous"), "");
  EXPECT_NE(verdict<Defect::no_value_scale>("s8", 100, "paged"), "");
}

/// Each by its own rounding, on machines that lack its instructions, too.
TEST(AttentionVerify, CatchesWrongKernelsThatRoundTheirInputs) {
  int kernels = 0;
  for (const auto& info : all_kernels()) {
    if (info.op != "attention" || info.gpu()) continue;
    const auto& like = *static_cast<const Kernel*>(info.table);
    for (const auto& [dtype, rounding] :
         {std::pair{"s8", like.s8_rounding}, {"bf16", like.bf16_rounding}}) {
      if (rounding == 0) continue;
      ++kernels;
      const std::string what = std::string(info.variant) + " " + dtype;
      for (const int context : {17, 100, 8192}) {
        const char* layout = context == 100 ? "contiguous" : "paged";
        EXPECT_EQ(verdict<Defect::none>(dtype, context, layout, like), "") << what;
        EXPECT_NE(verdict<Defect::skips_last_token>(dtype, context, layout, like), "")
            << what << context;
        EXPECT_NE(verdict<Defect::skips_first_token>(dtype, context, layout, like), "")
            << what << context;
        EXPECT_NE(verdict<Defect::skips_second_half>(dtype, context, layout, like), "")
            << what << context;
        EXPECT_NE(verdict<Defect::wrong_kv_head>(dtype, context, layout, like), "")
            << what << context;
        EXPECT_NE(verdict<Defect::no_root>(dtype, context, layout, like), "") << what << context;
        EXPECT_NE(verdict<Defect::a_tenth_less>(dtype, context, layout, like), "")
            << what << context;
      }
      if (dtype[0] != 's') continue;
      EXPECT_NE(verdict<Defect::no_key_scale>(dtype, 100, "contiguous", like), "") << what;
      EXPECT_NE(verdict<Defect::no_value_scale>(dtype, 100, "paged", like), "") << what;
    }
  }
#if defined(__x86_64__)
  EXPECT_EQ(kernels, 6);
#endif
}

TEST(AttentionTraffic, ByHeadIsHandWorked) {
  // 64 tokens of 8 bf16 on 2 kv heads: 2 x 2 x 64 x 8 x 2 = 4096 B of K and V, 2048 of one kv head;
  // q and out of 4 heads 2 x 4 x 8 x 4 = 256.
  const Shape s{.batch = 1, .context = 64, .heads = 4, .kv_heads = 2, .head_dim = 8};
  const auto bytes = [&](bool by_head, int threads, std::int64_t l1d, std::int64_t l2) {
    const LevelBytes t = traffic(s, 2, 0, {.by_head = by_head}, threads, {.l1d = l1d, .l2 = l2});
    return std::vector<double>{t.l1, t.l2, t.l3, t.dram};
  };
  using Bytes = std::vector<double>;
  constexpr double kOnce = 4096 + 256, kTwice = 2 * 4096 + 256;
  EXPECT_EQ(bytes(false, 1, 1024, 1024), (Bytes{kOnce, kOnce, kOnce, kOnce}));
  EXPECT_EQ(bytes(true, 1, 1024, 1024), (Bytes{kTwice, kTwice, kTwice, kOnce}));
  EXPECT_EQ(bytes(true, 1, 1024, 2048), (Bytes{kTwice, kTwice, kOnce, kOnce}));  // L2 keeps it
  EXPECT_EQ(bytes(true, 2, 2048, 4096), (Bytes{kTwice, kOnce, kOnce, kOnce}));
  // Each head on a core of its own, which gets all of it.
  EXPECT_EQ(bytes(true, 4, 2048, 4096), (Bytes{kTwice, kTwice, kTwice, kOnce}));
  // int8 with a scale for every token: 2 x 2 x 64 x (8 + 4).
  EXPECT_EQ(traffic(s, 1, 4, {.by_head = true}, 1, {}).l1, 2 * 3072 + 256);
}

TEST(AttentionTraffic, RegisterTilesOfFewerHeadsLoadMore) {
  // 4096 B of K and V as above, now for groups of eight: 2 x 16 x 8 x 4 = 1024 of q and out.
  const Shape s{.batch = 1, .context = 64, .heads = 16, .kv_heads = 2, .head_dim = 8};
  const auto into_core = [&](int key_heads, int value_heads) {
    const Kernel kernel{.key_heads = key_heads, .value_heads = value_heads};
    const LevelBytes t = traffic(s, 2, 0, kernel, 1, {});
    EXPECT_EQ(t.l2, 4096 + 1024);
    return t.l1 - 1024;
  };
  EXPECT_EQ(into_core(0, 0), 4096);
  EXPECT_EQ(into_core(8, 8), 4096);
  EXPECT_EQ(into_core(4, 4), 2 * 4096);
  EXPECT_EQ(into_core(0, 4), 4096 + 2048);   // keys once, values twice
  EXPECT_EQ(into_core(3, 8), 2 * 2048 * 2);  // three tiles, the last of two heads
}

TEST(AttentionTraffic, IsThatOfTheVariant) {
  const Case c{.dtype = "bf16",
               .keys = {{"batch", "1"},
                        {"context", "8192"},
                        {"heads", "8"},
                        {"kv_heads", "2"},
                        {"head_dim", "64"},
                        {"temp", "cold"}}};
  // K and V 2 x 2 x 8192 x 64 x 2 = 4 MiB, 2 MiB of a kv head, which L2 has no room for.
  constexpr double kCache = 4 << 20, kRest = 2 * 8 * 64 * 4;
  for (const auto* info : attention_kernels()) {
    if (!operation_of(*info).supports(*info, c)) continue;
    const bool by_head =
        info->variant == "scalar" || info->variant == "online" || info->variant == "avx2";
    const LevelBytes t = operation_of(*info).bind(*info, c, kCaches)->traffic();
    EXPECT_EQ(t.dram, kCache + kRest) << info->variant;
    if (info->library()) {
      EXPECT_TRUE(std::isnan(t.l1) && std::isnan(t.l2) && std::isnan(t.l3)) << info->variant;
      continue;
    }
    EXPECT_EQ(t.l1, (by_head ? 4 : 1) * kCache + kRest) << info->variant;
    EXPECT_EQ(t.l3, (by_head ? 4 : 1) * kCache + kRest) << info->variant;
  }
}

TEST(AttentionCases, RefusesBadShapes) {
  const KernelInfo& info = *attention_kernels().front();
  const auto message = [&](std::vector<std::pair<std::string, std::string>> keys) -> std::string {
    try {
      operation_of(info).supports(info, {.dtype = "f32", .keys = std::move(keys)});
    } catch (const BadInput& e) {
      return e.what();
    }
    return "accepted";
  };
  using Keys = std::vector<std::pair<std::string, std::string>>;
  const Keys good = {
      {"batch", "1"}, {"context", "9"}, {"heads", "4"}, {"kv_heads", "2"}, {"head_dim", "64"}};
  const auto with = [&](const char* key, const char* value) {
    Keys keys = good;
    const auto at =
        std::find_if(keys.begin(), keys.end(), [&](const auto& pair) { return pair.first == key; });
    if (at == keys.end())
      keys.emplace_back(key, value);
    else
      at->second = value;
    return message(keys);
  };
  EXPECT_EQ(message(good), "accepted");
  EXPECT_EQ(with("kv_heads", "3"), "shape: heads:4 is not a multiple of kv_heads:3");
  EXPECT_EQ(with("context", "0"), "shape: context:0 must be at least 1");
  EXPECT_EQ(with("layout", "ragged"), "shape: layout:ragged (known: contiguous, paged)");
  EXPECT_EQ(with("temp", "hot"), "shape: temp:hot (known: warm, cold)");
  EXPECT_EQ(with("page", "16"), "shape: page:16 needs layout:paged");
  EXPECT_EQ(with("M", "16").substr(0, 27), "shape: attention has no 'M'");
}

TEST(AttentionCases, QuickOnesCoverTheOperation) {
  std::vector<std::string> names;
  for (const Case& c : operation_of(*attention_kernels().front()).cases(kCaches))
    if (c.quick) names.push_back(c.name());
  const auto has = [&](const char* part) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    });
  };
  for (const char* part :
       {"f32/", "bf16/", "s8/", "kv_heads:32", "layout:paged/page:16", "temp:warm", "threads:1"})
    EXPECT_TRUE(has(part)) << part;
  EXPECT_LE(names.size(), 8u);
}

}  // namespace
}  // namespace kernels::attention
