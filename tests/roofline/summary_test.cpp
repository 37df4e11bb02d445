#include "roofline/report/summary.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/overlay/overlay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace roofline {
namespace {

/// In the order of levels, whatever else the table sorts by.
TEST(CeilingsSummary, ShowsReadsByLevelAndTellsLinksApart) {
  const auto row = [](const char* resource, const char* level, const char* operation,
                      const char* condition) {
    Ceiling c;
    c.device = "gpu";
    c.resource = resource;
    c.level = level;
    c.operation = operation;
    c.condition = condition;
    c.measured = 1e9;
    c.cause = fmt::format("{} of {} is doubtful", operation, level);
    return c;
  };
  const std::string text = ceilings_summary(
      {row("bandwidth", "L2", "read", "again,quiet"), row("bandwidth", "L1", "read", "quiet"),
       row("bandwidth", "L1", "write", "quiet"), row("bandwidth", "HBM", "pages_4096", "quiet"),
       row("link", "sm80_pinned", "d2h", "quiet"), row("link", "sm80_pinned", "h2d", "quiet")});
  EXPECT_LT(text.find("L1"), text.find("L2")) << text;
  EXPECT_LT(text.find("L2"), text.find("HBM pages_4096")) << text;
  EXPECT_NE(text.find("sm80_pinned d2h"), std::string::npos) << text;
  EXPECT_NE(text.find("sm80_pinned h2d"), std::string::npos) << text;
  EXPECT_NE(text.find("read of L1 is doubtful"), std::string::npos) << text;
  EXPECT_EQ(text.find("write of L1"), std::string::npos) << "not in the table: " << text;
}

Ceiling main_memory() {
  Ceiling c;
  c.device = "cpu";
  c.resource = "bandwidth";
  c.level = "DRAM";
  c.operation = "read";
  c.measured = 1e9;
  return c;
}

TEST(KernelsSummary, TellsWhichRoofIsMissingAndWhatWasGuessed) {
  std::vector<Benchmark> rows(2);
  for (Benchmark& row : rows) {
    row.device = "cpu";
    row.kernel = row.name = "mine";
    row.flops = 1;
    row.level_bytes = {{"DRAM", 100}};
    row.times_s = {1e-9};
  }
  rows[0].roof_dtype = "f16";
  rows[0].threads = 4;
  rows[1].flops = 0;
  const std::string text = kernels_summary(overlay(rows, {main_memory()}));
  EXPECT_NE(text.find("1 row with verdict no-roof (no f16 peak on 4 threads)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("1 above the main memory's roof do not tell their size"), std::string::npos)
      << text;
}

TEST(Stars, StandForWhatCastsDoubtOnATime) {
  Stars stars;
  for (const char* sure : {"ok", "at-roof", "above-roof", "no-roof"}) EXPECT_EQ(stars.of(sure), "");
  EXPECT_EQ(stars.lines(), "");
  for (const char* doubtful : {"not-quiet", "samples-disagree", "not-quiet", "clock-moved"})
    EXPECT_EQ(stars.of(doubtful), "*");
  EXPECT_EQ(stars.lines(),
            "* 1 clock-moved: by 10 %, between samples or from the peak's\n"
            "* 2 not-quiet: fewer than three samples in quiet moments, all of them count\n"
            "* 1 samples-disagree: they lie 15 % or more off their median\n");
}

TEST(KernelsSummary, TellsOfAUnitWhosePeakStandsInForAnother) {
  std::vector<Benchmark> rows(1);
  rows[0].device = "cpu";
  rows[0].kernel = rows[0].name = "mine";
  rows[0].roof_dtype = "f32";
  rows[0].exec_unit = "avx2";
  rows[0].flops = 2;
  rows[0].bytes = 1;
  rows[0].level_bytes = {{"L1", 2}, {"DRAM", 1}};
  rows[0].times_s = {1};
  Ceiling peak;
  peak.device = "cpu";
  peak.resource = "compute";
  peak.dtype = "f32";
  peak.exec_unit = "simd-avx512";
  peak.measured = 1e9;
  const auto says = [&](const std::string& what) {
    return kernels_summary(overlay(rows, {peak, main_memory()})).find(what) != std::string::npos;
  };
  EXPECT_TRUE(says("no f32 peak of avx2 on 1 thread: held against simd-avx512 (1 benchmark)\n"));
  for (const char* good : {"simd-avx512", ""}) {
    rows[0].exec_unit = good;
    EXPECT_FALSE(says("held against")) << good;
  }
  rows[0].exec_unit = "avx2";
  rows[0].flops = 1e-3;
  EXPECT_FALSE(says("held against")) << "the memory bounds it";
}

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
