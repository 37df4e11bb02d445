#include "bench/problem_cache.hpp"

#include <gtest/gtest.h>

namespace bench {
namespace {

const kernels::Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30};

Entry dot(std::int64_t n, const std::string& variant = "scalar") {
  for (const auto& kernel : kernels::all_kernels()) {
    if (kernel.op != "dot" || kernel.variant != variant) continue;
    const kernels::Case c{.dtype = "f32", .keys = {{"N", std::to_string(n)}}};
    return {&kernel, c, "dot/" + variant + "/" + c.name(), ""};
  }
  throw std::logic_error("no dot/" + variant);
}

TEST(ProblemCache, KeepsWhatFits) {
  ProblemCache cache(1e9);
  const auto* first = cache.get(dot(100), kCaches).problem.get();
  cache.get(dot(200), kCaches);
  EXPECT_EQ(cache.get(dot(100), kCaches).problem.get(), first);
  EXPECT_FALSE(cache.any_wrong());
}

TEST(ProblemCache, KeepsHalfOfMemoryAndDropsTheLongestUnused) {
  const double each = 2 * 1000 * sizeof(float);
  ProblemCache cache(5 * each);
  Bound& first = cache.get(dot(1000), kCaches);
  Bound& second = cache.get(dot(1001), kCaches);
  cache.get(dot(1002), kCaches);
  EXPECT_NE(first.problem, nullptr);
  cache.get(dot(1000), kCaches);
  cache.get(dot(1003), kCaches);
  EXPECT_NE(first.problem, nullptr);
  EXPECT_EQ(second.problem, nullptr);
}

TEST(ProblemCache, CountsInputsThatVariantsShareOnce) {
  const double each = 2 * 1000 * sizeof(float);
  ProblemCache cache(2 * each);
  Bound& first = cache.get(dot(1000), kCaches);
  Bound& second = cache.get(dot(1000, "unrolled"), kCaches);
  EXPECT_NE(first.problem, nullptr);
  EXPECT_NE(second.problem, nullptr);
  cache.get(dot(1001), kCaches);  // there is room for the next one
  cache.get(dot(1002), kCaches);
  EXPECT_EQ(first.problem, nullptr);
  EXPECT_EQ(second.problem, nullptr);
}

TEST(ProblemCache, DropsWhatSharesItsInputsOnceItHasThem) {
  ProblemCache cache(1);  // no problem fits
  Bound& first = cache.get(dot(1000), kCaches);
  Bound& second = cache.get(dot(1000, "unrolled"), kCaches);
  EXPECT_EQ(first.problem, nullptr);
  EXPECT_NE(second.problem, nullptr);
}

TEST(ProblemCache, KeepsTheBatchOfWhatItDrops) {
  ProblemCache cache(1);  // no problem fits
  Bound& first = cache.get(dot(100), kCaches);
  EXPECT_EQ(first.batch, 0);
  first.batch = 32;
  first.next_call = 7;
  cache.get(dot(200), kCaches);
  EXPECT_EQ(first.problem, nullptr);
  Bound& again = cache.get(dot(100), kCaches);
  EXPECT_NE(again.problem, nullptr);
  EXPECT_EQ(again.batch, 32);
  EXPECT_EQ(again.next_call, 7);
}

TEST(ProblemCache, GoesOnRotatingWhereAnotherProblemStopped) {
  ProblemCache cache(1e9);
  cache.get(dot(100), kCaches).next_call = 5;
  Bound& second = cache.get(dot(200), kCaches);
  EXPECT_EQ(second.next_call, 5);
  second.next_call = 9;
  EXPECT_EQ(cache.get(dot(100), kCaches).next_call, 9);
}

TEST(ProblemCache, VerifiesWhatItDroppedNoSecondTime) {
  ProblemCache cache(1);  // no problem fits
  Bound& first = cache.get(dot(100), kCaches);
  EXPECT_TRUE(first.verified);
  first.wrong = "as found before";
  cache.get(dot(200), kCaches);
  EXPECT_EQ(first.problem, nullptr);
  EXPECT_EQ(cache.get(dot(100), kCaches).wrong, "as found before");
  EXPECT_TRUE(cache.any_wrong());
}

TEST(ProblemCache, DropsWhereMemoryIsScarceForOthers) {
  double free_bytes = 1e9;
  ProblemCache cache(1e9, [&] { return free_bytes; });
  Bound& first = cache.get(dot(100), kCaches);
  cache.get(dot(200), kCaches);
  EXPECT_NE(first.problem, nullptr);
  free_bytes = 1e6;
  cache.get(dot(300), kCaches);
  EXPECT_EQ(first.problem, nullptr);
}

}  // namespace
}  // namespace bench
