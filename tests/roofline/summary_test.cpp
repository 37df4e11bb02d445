#include "roofline/summary.hpp"

#include <gtest/gtest.h>

namespace roofline {
namespace {

TEST(CountersSummary, HowManyAgreeWithTheModelAndWhichDoesLeast) {
  std::vector<Benchmark> rows(2);
  rows[0].name = "dot/a";
  rows[1].name = "dot/b";
  for (Benchmark& row : rows) {
    row.kernel = "dot";
    row.device = "gpu";
    row.times_s = {1};
    row.flops = 100;
    row.level_bytes = {{"L1", 500}, {"HBM", 1000}};
  }
  EXPECT_EQ(counters_summary(counted_overlay(rows, {})), "");
  rows[0].counted_bytes = {{"L2", 1}, {"HBM", 1029}};
  rows[0].counted_flops = 100.5;
  rows[1].counted_bytes = {{"HBM", 500}};
  EXPECT_EQ(counters_summary(counted_overlay(rows, {})),
            "Hardware counters:\n"
            "  FLOP: 1 of 1 within 1 % of the model, furthest 1.005 times it: dot/a\n"
            "  HBM bytes: 1 of 2 within 3 % of the model, furthest 0.5 times it: dot/b\n");
}

TEST(SkipsSummary, OneLineAReason) {
  EXPECT_EQ(skips_summary({}), "");
  EXPECT_EQ(skips_summary({{"dot/a", "no AVX-512"}, {"dot/b", "refused"}, {"dot/c", "no AVX-512"}}),
            "skipped 2 benchmarks, such as dot/a: no AVX-512\nskipped dot/b: refused\n");
}

}  // namespace
}  // namespace roofline
