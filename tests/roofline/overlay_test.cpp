#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/roofline_csv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace roofline {
namespace {

Ceiling ceiling(const std::string& resource, const std::string& level, const std::string& unit,
                double measured, int threads = 1) {
  Ceiling c;
  c.device = "cpu";
  c.resource = resource;
  c.level = level;
  c.operation = resource == "compute" ? "fma_peak" : "read";
  c.dtype = "f32";
  c.exec_unit = unit;
  c.threads = threads;
  c.measured = measured;
  return c;
}

/// 100 GFLOP/s AVX2, 10 scalar; L1 200, L2 100, DRAM 20 GB/s; one thread.
std::vector<Ceiling> ceilings() {
  return {ceiling("compute", "", "simd-avx2", 100e9),
          ceiling("compute", "", "scalar", 10e9),
          ceiling("bandwidth", "L1", "simd-avx2", 200e9),
          ceiling("bandwidth", "L2", "simd-avx2", 100e9),
          ceiling("bandwidth", "L2", "scalar", 30e9),
          ceiling("bandwidth", "DRAM", "simd-avx2", 20e9)};
}

Benchmark kernel(double flops, std::vector<std::pair<std::string, double>> bytes, double seconds) {
  Benchmark b;
  b.name = b.kernel = "k";
  b.dtype = b.roof_dtype = "f32";
  b.device = "cpu";
  b.exec_unit = "simd-avx2";
  b.flops = flops;
  b.bytes = bytes.empty() ? 0 : bytes.back().second;
  b.level_bytes = std::move(bytes);
  b.times_s = {seconds};
  return b;
}

TEST(Overlay, DotFromDram) {
  // 2e6 FLOP, 8e6 bytes: T_math 20 us, L1 40 us, DRAM 400 us; measured 500 us.
  const std::vector<Benchmark> rows = {kernel(2e6, {{"L1", 8e6}, {"DRAM", 8e6}}, 500e-6)};
  const auto points = overlay(rows, ceilings());
  ASSERT_EQ(points.size(), 2u);
  const Point& l1 = points[0];
  const Point& dram = points[1];
  EXPECT_EQ(l1.level, "L1");
  EXPECT_EQ(dram.level, "DRAM");
  EXPECT_DOUBLE_EQ(dram.intensity, 0.25);
  EXPECT_DOUBLE_EQ(dram.achieved_flops_per_s, 4e9);
  EXPECT_DOUBLE_EQ(dram.achieved_bytes_per_s, 16e9);
  EXPECT_DOUBLE_EQ(dram.roof_flops_per_s, 5e9);  // 0.25 x 20e9
  EXPECT_EQ(dram.roof, "bandwidth/DRAM/read/simd-avx2/threads:1");
  EXPECT_DOUBLE_EQ(dram.ridge_intensity, 5);
  EXPECT_DOUBLE_EQ(dram.fraction_of_roof, 0.8);
  EXPECT_DOUBLE_EQ(dram.t_lower_s, 400e-6);
  EXPECT_DOUBLE_EQ(dram.t_upper_s, 420e-6);
  EXPECT_DOUBLE_EQ(l1.roof_flops_per_s, 50e9);
  EXPECT_DOUBLE_EQ(l1.t_lower_s, 400e-6);  // of the whole kernel
  EXPECT_DOUBLE_EQ(l1.t_upper_s, 60e-6);   // with this level alone
  EXPECT_EQ(l1.bound_by, "DRAM");
  EXPECT_EQ(dram.bound_by, "DRAM");
  EXPECT_EQ(dram.verdict, "ok");
}

TEST(Overlay, TellsHowFarTheBoundsOverlapOrWhatIsLost) {
  // T_math 20 us, L1 40 us, DRAM 400 us: 400 us to 460.
  const auto words = [](double seconds, const char* inner = "L1") {
    const std::vector<Benchmark> rows = {kernel(2e6, {{inner, 8e6}, {"DRAM", 8e6}}, seconds)};
    const Point point = overlay(rows, ceilings())[1];
    if (std::string(inner) == "L1") {
      EXPECT_DOUBLE_EQ(point.t_all_s, 460e-6);
    }
    return overlap_words(point);
  };
  EXPECT_EQ(words(500e-6), "lost 8.0 %");
  EXPECT_EQ(words(465e-6), "0.0 %") << "the clock is not worth more";
  EXPECT_EQ(words(430e-6), "50.0 %");
  EXPECT_EQ(words(395e-6), "100.0 %");
  EXPECT_EQ(words(300e-6), "-") << "above its roof";
  EXPECT_EQ(words(430e-6, "L4"), "-") << "nothing is known of that level";
}

TEST(Overlay, OfAProgramTheBoundsOfItsPartsAddUp) {
  // Parts of 100 + 400 us and of 1000 + 1 us, the first of them 400 to 500 us, the second 1000.
  std::vector<Benchmark> rows = {kernel(1.1e8, {{"DRAM", 8.02e6}}, 1.45e-3),
                                 kernel(1e7, {{"DRAM", 8e6}}, 0.45e-3),
                                 kernel(1e8, {{"DRAM", 2e4}}, 1e-3)};
  rows[0].name = "decode";
  for (int part : {1, 2}) {
    rows[part].parent = "decode";
    rows[part].part = part == 1 ? "attention" : "mlp";
  }
  const auto points = overlay(rows, ceilings());
  EXPECT_DOUBLE_EQ(points[0].t_lower_s, 1.4e-3);
  EXPECT_DOUBLE_EQ(points[0].t_all_s, 1.501e-3);
  EXPECT_EQ(overlap_words(points[0]), "50.5 %");
}

TEST(Overlay, CountedWorkIsRowsOfItsOwn) {
  // As above, and counters saw a quarter more of DRAM: 1e7 bytes, 500 us, and 2.5e6 FLOP.
  std::vector<Benchmark> rows = {kernel(2e6, {{"L1", 8e6}, {"DRAM", 8e6}}, 500e-6),
                                 kernel(2e6, {{"DRAM", 8e6}}, 1)};
  rows[0].bytes_source = "model";
  rows[0].counted_bytes = {{"DRAM", 1e7}};
  rows[0].counted_flops = 2.5e6;
  EXPECT_EQ(overlay(rows, ceilings()).size(), 3u);
  auto points = counted_overlay(rows, ceilings());
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].level, "DRAM");
  EXPECT_EQ(points[0].bytes_source, "counter");
  EXPECT_DOUBLE_EQ(points[0].flops, 2.5e6);
  EXPECT_DOUBLE_EQ(points[0].bytes, 1e7);
  EXPECT_DOUBLE_EQ(points[0].intensity, 0.25);
  EXPECT_DOUBLE_EQ(points[0].achieved_bytes_per_s, 20e9);
  EXPECT_DOUBLE_EQ(points[0].fraction_of_roof, 1);
  rows[0].counted_flops = kUnknownNumber;
  points = counted_overlay(rows, ceilings());
  EXPECT_DOUBLE_EQ(points[0].flops, 2e6);
  const CsvTable table = roofline_table(points, {});
  EXPECT_EQ(table.text(0, "bytes_source"), "counter");
  EXPECT_EQ(table.number(0, "flops"), 2e6);
  // More than the memory can have moved in that time is a fault of model, counter or time.
  rows[0].counted_bytes = {{"DRAM", 1.2e7}};
  EXPECT_EQ(counted_overlay(rows, ceilings())[0].verdict, "above-roof");
}

TEST(Overlay, ComputeBound) {
  // 1e9 FLOP: 10 ms; 1e8 bytes of L2: 1 ms; measured 12.5 ms.
  const std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e8}}, 12.5e-3)};
  const auto points = overlay(rows, ceilings());
  EXPECT_EQ(points[0].roof, "compute/f32/fma_peak/simd-avx2/threads:1");
  EXPECT_EQ(points[0].bound_by, "compute");
  EXPECT_DOUBLE_EQ(points[0].roof_flops_per_s, 100e9);
  EXPECT_DOUBLE_EQ(points[0].fraction_of_roof, 0.8);
  EXPECT_DOUBLE_EQ(points[0].t_upper_s, 11e-3);
}

TEST(Overlay, AFlatRoofBelowItsTheoryGoesBeforeAHigherOneThatIsNot) {
  const std::vector<Benchmark> rows = {kernel(1e3, {{"L2", 1e6}}, 1e-3)};
  for (const char* doubt : {"no-plateau", "clock-moved+above-theory"}) {
    auto limits = ceilings();
    limits.push_back(ceiling("bandwidth", "L2", "simd-avx512", 400e9));
    EXPECT_EQ(overlay(rows, limits)[0].roof, "bandwidth/L2/read/simd-avx512/threads:1");
    limits.back().verdict = doubt;
    EXPECT_EQ(overlay(rows, limits)[0].roof, "bandwidth/L2/read/simd-avx2/threads:1") << doubt;
    limits = {limits.front(), limits.back()};  // the only one
    EXPECT_EQ(overlay(rows, limits)[0].roof, "bandwidth/L2/read/simd-avx512/threads:1") << doubt;
  }
}

TEST(Overlay, HeldAgainstTheUnitThatItIssuesTo) {
  std::vector<Benchmark> rows(3, kernel(1e9, {{"L2", 1e6}}, 0.2));
  rows[0].exec_unit = "scalar";
  rows[1].exec_unit = "";         // a library that does not tell: the best unit of the dtype
  rows[2].exec_unit = "tcgen05";  // faster than any that is probed
  const auto points = overlay(rows, ceilings());
  EXPECT_DOUBLE_EQ(points[0].roof_flops_per_s, 10e9);
  EXPECT_DOUBLE_EQ(points[1].roof_flops_per_s, 100e9);
  EXPECT_EQ(points[2].verdict, "no-roof");
  auto sheet = ceilings();  // whose figure is that of the fastest unit
  for (Ceiling& limit : sheet) limit.device.clear();
  EXPECT_DOUBLE_EQ(overlay(rows, sheet)[2].roof_flops_per_s, 100e9);
}

TEST(Overlay, PointsAboveTheirRoofAreFlagged) {
  const auto verdict = [](double seconds) {
    const std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, seconds)};
    return overlay(rows, ceilings()).at(0);
  };
  EXPECT_EQ(verdict(10e-3 * 1.001).verdict, "ok");
  EXPECT_EQ(verdict(10e-3 / 1.02).verdict, "at-roof");
  EXPECT_EQ(verdict(10e-3 / 1.04).verdict, "above-roof");
  EXPECT_DOUBLE_EQ(verdict(10e-3 / 1.04).fraction_of_roof, 1.04);
}

TEST(Overlay, TheIntervalsOfPointAndCeilingCount) {
  auto limits = ceilings();
  // 5 % too fast, but the slowest sample within the interval is not.
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 1)};
  rows[0].times_s = {9.5e-3, 9.5e-3, 9.5e-3, 9.5e-3, 9.5e-3, 10e-3};
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "at-roof");
  rows[0].times_s.back() = 9.5e-3;
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "above-roof");
  limits[0].measured_high = 104e9;
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "at-roof");
  // A ceiling that scatters excuses no more than 10 %.
  limits[0].measured_high = 500e9;
  rows[0].times_s = {9.2e-3};
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "at-roof");
  rows[0].times_s = {9e-3};
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "above-roof");
}

TEST(Overlay, AHigherClockThanThatOfItsPeakExcusesAsMuch) {
  auto limits = ceilings();
  limits[0].clock_hz = 3e9;
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 9.3e-3)};
  rows[0].clock_hz = 3e9;
  const Point same_clock = overlay(rows, limits).at(0);
  EXPECT_EQ(same_clock.verdict, "above-roof");
  EXPECT_NEAR(same_clock.times_its_ceiling, 1.075, 1e-3);
  rows[0].clock_hz = 3.24e9;
  const Point higher = overlay(rows, limits).at(0);
  EXPECT_EQ(higher.verdict, "at-roof");
  EXPECT_EQ(higher.times_its_ceiling, 0) << "nor is its ceiling in doubt";
  rows[0].level_bytes = {{"L2", 1.01e9}};
  EXPECT_EQ(overlay(rows, limits).at(0).verdict, "above-roof") << "memory has another clock";
}

TEST(Overlay, AClockThatMovedIsNamed) {
  auto limits = ceilings();
  limits[0].clock_hz = 3e9;
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 20e-3)};
  const auto verdict = [&] { return overlay(rows, limits).at(0).verdict; };
  rows[0].clock_hz = 2.75e9;  // 8 % below its roof's
  EXPECT_EQ(verdict(), "ok");
  rows[0].clock_hz = 2.65e9;
  EXPECT_EQ(verdict(), "clock-moved");
  // A memory roof is measured without the arithmetic that may lower a kernel's clock.
  rows[0].level_bytes = {{"L2", 1.5e9}};
  EXPECT_NE(verdict(), "clock-moved");
  rows[0].level_bytes = {{"L2", 1e6}};
  rows[0].clock_hz = 3e9;
  rows[0].beside.resize(3, {.clock_hz = 3e9});
  EXPECT_EQ(verdict(), "ok");
  rows[0].beside[1].clock_hz = 2.65e9;
  EXPECT_EQ(verdict(), "clock-moved");
  rows[0].times_s = {9.9e-3};  // what is above its roof is the graver fault
  EXPECT_EQ(verdict(), "at-roof");
  rows[0].times_s = {9e-3};
  EXPECT_EQ(verdict(), "above-roof");
}

TEST(Overlay, TooFewQuietSamplesAreNamedBeforeWhatTheyBring) {
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 1)};
  rows[0].beside = {
      {.clock_hz = 3e9, .issue_per_cycle = 2}, {.clock_hz = 2.5e9}, {.clock_hz = 3e9}};
  const auto verdict = [&](double seconds, std::size_t quiet) {
    rows[0].times_s = rows[0].lived_times_s = std::vector<double>(3, seconds);
    rows[0].quiet_samples = quiet;
    return overlay(rows, ceilings()).at(0).verdict;
  };
  EXPECT_EQ(verdict(20e-3, 3), "clock-moved");
  EXPECT_EQ(verdict(20e-3, 2), "not-quiet");
  EXPECT_EQ(verdict(10e-3 / 1.02, 3), "at-roof");
  EXPECT_EQ(verdict(10e-3 / 1.02, 2), "not-quiet");
  EXPECT_EQ(verdict(9e-3, 2), "above-roof");
}

TEST(Overlay, SamplesThatDisagreeAreNamed) {
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 1)};
  rows[0].times_s = {20e-3, 26e-3, 20e-3, 26e-3};  // off 23 by 3: 13 %
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "ok");
  rows[0].times_s = {20e-3, 28e-3, 20e-3, 28e-3};  // off 24 by 4: 17 %
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "samples-disagree");
}

TEST(Overlay, RoofsAreThoseOfQuietMoments) {
  auto limits = ceilings();
  limits[0].condition = "quiet";
  limits.push_back(limits[0]);
  limits.back().condition = "as-lived";
  limits.back().measured = 120e9;
  const std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}}, 20e-3)};
  EXPECT_DOUBLE_EQ(overlay(rows, limits)[0].roof_flops_per_s, 100e9);
  limits.erase(limits.begin());
  EXPECT_DOUBLE_EQ(overlay(rows, limits)[0].roof_flops_per_s, 120e9);  // no quiet one
}

TEST(Overlay, FasterThanAnotherLevelAllowsIsImpossible) {
  // L1 and compute would allow it, DRAM (400 us) does not.
  const std::vector<Benchmark> rows = {kernel(2e6, {{"L1", 8e6}, {"DRAM", 8e6}}, 300e-6)};
  const auto points = overlay(rows, ceilings());
  EXPECT_EQ(points[0].verdict, "impossible");
  EXPECT_LT(points[0].fraction_of_roof, 1);
  EXPECT_EQ(points[1].verdict, "above-roof");
}

TEST(Overlay, ALevelWithoutARoofDoesNotHideThatAnotherForbidsIt) {
  // As above, with L3 between them, which has no ceiling.
  const auto points = overlay({kernel(2e6, {{"L3", 8e6}, {"DRAM", 8e6}}, 300e-6)}, ceilings());
  EXPECT_EQ(points[0].missing, "no reads of L3 on 1 thread");
  EXPECT_EQ(points[0].verdict, "impossible");
  EXPECT_EQ(points[1].verdict, "above-roof");
}

TEST(Overlay, UnknownCeilingsStayUnknown) {
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e6}, {"L3", 1e6}}, 0.2),
                                 kernel(1e9, {{"L2", 1e6}}, 0.2), kernel(1e9, {{"L2", 1e6}}, 0.2)};
  rows[1].roof_dtype = "bf16";
  rows[2].threads = 2;
  const auto points = overlay(rows, ceilings());
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].verdict, "ok");  // L2 has its roof …
  EXPECT_EQ(points[0].bound_by, "");   // … but what bounds the kernel is not known
  EXPECT_TRUE(std::isnan(points[0].t_lower_s));
  EXPECT_EQ(points[1].verdict, "no-roof");  // no L3 ceiling
  // A level that comes before the last one may be without.
  const auto cold =
      overlay({kernel(1e9, {{"L2", 1e6}, {"L3", 1e6}, {"DRAM", 1e9}}, 0.2)}, ceilings());
  EXPECT_EQ(cold[1].verdict, "no-roof");
  EXPECT_EQ(cold[2].bound_by, "DRAM");
  EXPECT_DOUBLE_EQ(cold[2].t_lower_s, 50e-3);
  EXPECT_TRUE(std::isnan(points[1].roof_flops_per_s));
  EXPECT_EQ(points[2].verdict, "no-roof");  // no bf16 peak
  EXPECT_EQ(points[3].verdict, "no-roof");  // nothing for two threads
  EXPECT_EQ(overlay(rows, {})[0].verdict, "no-roof");
}

TEST(Overlay, NoFlopsIsHeldAgainstBandwidth) {
  const std::vector<Benchmark> rows = {kernel(0, {{"DRAM", 20e6}}, 2e-3)};  // 1 ms at 20 GB/s
  const auto points = overlay(rows, ceilings());
  EXPECT_DOUBLE_EQ(points[0].fraction_of_roof, 0.5);
  EXPECT_EQ(points[0].bound_by, "DRAM");
  EXPECT_EQ(points[0].verdict, "ok");
}

TEST(Overlay, NoBytesIsHeldAgainstThePeak) {
  const std::vector<Benchmark> rows = {kernel(1e9, {}, 20e-3)};
  const auto points = overlay(rows, ceilings());
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].level, "");
  EXPECT_DOUBLE_EQ(points[0].fraction_of_roof, 0.5);
  EXPECT_EQ(points[0].bound_by, "compute");
}

TEST(Overlay, LaunchTimeBoundsASmallKernel) {
  auto limits = ceilings();
  for (Ceiling& c : limits) c.device = "gpu";
  limits.push_back(ceiling("latency", "launch", "", 3e-6));
  limits.back().device = "gpu";
  std::vector<Benchmark> rows = {kernel(1e5, {{"L2", 1e5}}, 5e-6),
                                 kernel(1e5, {{"L2", 1e5}}, 2e-6)};
  for (Benchmark& row : rows) row.device = "gpu";
  const auto points = overlay(rows, limits);
  EXPECT_EQ(points[0].bound_by, "launch");
  EXPECT_DOUBLE_EQ(points[0].t_lower_s, 3e-6);
  EXPECT_EQ(points[0].verdict, "ok");
  EXPECT_EQ(points[1].verdict, "impossible");
}

TEST(Overlay, LaunchesCostWhatTheyDoOnAStreamThoughAGraphsCostLess) {
  auto limits = ceilings();
  for (Ceiling& c : limits) c.device = "gpu";
  for (const auto& [operation, seconds] :
       {std::pair{"sm80_graph", 1e-6}, {"sm80_stream", 3e-6}, {"sm80_graph", 2e-6}}) {
    limits.push_back(ceiling("latency", "launch", "", seconds));
    limits.back().device = "gpu";
    limits.back().operation = operation;
  }
  std::vector<Benchmark> rows = {kernel(1e5, {{"L2", 1e5}}, 5e-6)};
  rows[0].device = "gpu";
  EXPECT_DOUBLE_EQ(overlay(rows, limits)[0].t_lower_s, 3e-6);
  std::erase_if(limits, [](const Ceiling& c) { return c.operation == "sm80_stream"; });
  EXPECT_DOUBLE_EQ(overlay(rows, limits)[0].t_lower_s, 1e-6);
}

TEST(Overlay, LaunchTimeCountsForEveryLaunchOfACall) {
  auto limits = ceilings();
  for (Ceiling& c : limits) c.device = "gpu";
  limits.push_back(ceiling("latency", "launch", "", 3e-6));
  limits.back().device = "gpu";
  // Two launches a call take 6 us; of 100 calls that share one launch each takes 30 ns.
  std::vector<Benchmark> rows = {kernel(1e5, {{"L2", 1e5}}, 7e-6),
                                 kernel(1e5, {{"L2", 1e5}}, 7e-6)};
  for (Benchmark& row : rows) row.device = "gpu";
  rows[0].launches = 2;
  rows[1].launches = 0.01;
  const auto points = overlay(rows, limits);
  EXPECT_EQ(points[0].bound_by, "launch");
  EXPECT_DOUBLE_EQ(points[0].t_lower_s, 6e-6);
  EXPECT_NE(points[1].bound_by, "launch");
}

TEST(Overlay, APartOfAProgramHasNoneOfItsLaunches) {
  auto limits = ceilings();
  for (Ceiling& c : limits) c.device = "gpu";
  limits.push_back(ceiling("latency", "launch", "", 3e-6));
  limits.back().device = "gpu";
  std::vector<Benchmark> rows = {kernel(1e5, {{"L2", 1e5}}, 7e-6)};
  rows[0].device = "gpu";
  rows[0].launches = 600;
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "impossible");
  rows[0].part = "attention";
  const auto points = overlay(rows, limits);
  EXPECT_NE(points[0].verdict, "impossible");
  EXPECT_NE(points[0].bound_by, "launch");
}

TEST(Overlay, ZerosBurstsAndLongLoadsAreNoRoof) {
  auto limits = ceilings();
  for (const char* condition :
       {"zeros+burst+as-lived", "random+burst+as-lived", "random+sustained+as-lived"}) {
    limits.push_back(ceiling("compute", "", "simd-avx2", 200e9));
    limits.back().condition = condition;
  }
  const std::vector<Benchmark> rows = {kernel(1e9, {}, 20e-3)};  // 50 of 100 GFLOP/s
  EXPECT_DOUBLE_EQ(overlay(rows, limits)[0].fraction_of_roof, 0.5);
}

TEST(Overlay, TheoryAndAdvertisedNeedBothSides) {
  auto limits = ceilings();
  limits[0].theory_at_clock = 110e9;
  limits[3].theory_at_clock = 120e9;
  limits[0].advertised = 130e9;
  const std::vector<Benchmark> rows = {kernel(1e6, {{"L2", 2e6}}, 100e-6)};
  const auto points = overlay(rows, limits);
  EXPECT_DOUBLE_EQ(points[0].theory_roof_flops_per_s, 60e9);  // min(110, 0.5 x 120)
  EXPECT_TRUE(std::isnan(points[0].advertised_roof_flops_per_s));
}

TEST(Overlay, TheoryIsAtTheClockThatTheRowRanAt) {
  auto limits = ceilings();
  limits[0].theory_at_clock = 110e9;
  limits[0].clock_hz = 2e9;
  limits[3].theory_at_clock = 1e12;
  std::vector<Benchmark> rows(2, kernel(1e6, {{"L2", 2e6}}, 100e-6));
  rows[0].clock_hz = 1.8e9;  // the other's is not known
  const auto points = overlay(rows, limits);
  EXPECT_DOUBLE_EQ(points[0].theory_roof_flops_per_s, 99e9);
  EXPECT_DOUBLE_EQ(points[1].theory_roof_flops_per_s, 110e9);
}

TEST(Overlay, ThePeerIsTheBestLibraryOnTheSameWork) {
  const auto row = [](const std::string& variant, const std::string& library, double seconds,
                      const std::string& shape) {
    Benchmark b = kernel(1e9, {{"L2", 1e6}}, seconds);
    b.kernel = "matmul";
    b.variant = variant;
    b.library = library;
    b.shape = shape;
    return b;
  };
  const std::vector<Benchmark> rows = {
      row("ours", "", 20e-3, "M:64"), row("openblas", "OpenBLAS 0.3.21", 16e-3, "M:64"),
      row("blis", "BLIS 0.9", 30e-3, "M:64"), row("ours", "", 20e-3, "M:64/pack:pre")};
  const auto points = overlay(rows, ceilings());
  EXPECT_EQ(points[0].peer, "OpenBLAS 0.3.21");
  EXPECT_DOUBLE_EQ(points[0].peer_ratio, 0.8);  // the library is faster
  EXPECT_EQ(points[1].peer, "");                // a library is not its own peer
  EXPECT_EQ(points[3].peer, "");                // other work
}

TEST(Overlay, TheMainMemoryMeasuredBesideIsTheRoof) {
  // 8e6 bytes in 500 us; the file's probe reads 10e6 bytes in 1 ms: 10 GB/s, not 20: 800 us.
  std::vector<Benchmark> rows = {kernel(2e6, {{"L1", 8e6}, {"DRAM", 8e6}}, 1e-3),
                                 kernel(2e6, {{"DRAM", 8e6}}, 1e-3),
                                 kernel(0, {{"DRAM", 10e6}}, 1e-3)};
  rows[0].source = rows[2].source = "a.json";
  rows[1].source = "b.json";
  rows[2].kernel = "stream";
  rows[2].variant = "avx2";
  rows[2].roof_of = "a";
  const auto points = overlay(rows, ceilings());
  ASSERT_EQ(points.size(), 3u);
  EXPECT_DOUBLE_EQ(points[0].t_level_s, 40e-6);  // of L1
  EXPECT_DOUBLE_EQ(points[1].t_level_s, 800e-6);
  EXPECT_DOUBLE_EQ(points[1].t_lower_s, 800e-6);
  EXPECT_DOUBLE_EQ(points[1].t_upper_s, 820e-6);
  EXPECT_DOUBLE_EQ(points[1].fraction_of_roof, 0.8);
  EXPECT_DOUBLE_EQ(points[1].ridge_intensity, 10);
  EXPECT_EQ(points[1].roof, "bandwidth/DRAM/read/simd-avx2/threads:1");
  EXPECT_DOUBLE_EQ(points[2].fraction_of_roof, 0.4);  // another file
}

TEST(Overlay, AVectorKernelIsNotHeldAgainstAMatrixUnit) {
  std::vector<Ceiling> both = ceilings();
  Ceiling tiles = *std::find_if(both.begin(), both.end(),
                                [](const Ceiling& c) { return c.resource == "compute"; });
  tiles.exec_unit = "amx";
  tiles.measured *= 16;
  both.push_back(tiles);
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e8}}, 16e-3)};
  rows[0].exec_unit = "simd-baseline";
  const std::string vector_roof = overlay(rows, ceilings()).at(0).roof;
  EXPECT_EQ(overlay(rows, both).at(0).roof, vector_roof);
  rows[0].exec_unit = "";  // a user's own, which does not tell
  EXPECT_NE(overlay(rows, both).at(0).roof, vector_roof);
  rows[0].exec_unit = "scalar";
  EXPECT_EQ(overlay(rows, {tiles}).at(0).roof, "") << "no reads of L2";
  EXPECT_FALSE(std::isnan(overlay(rows, {tiles}).at(0).t_math_s)) << "for want of another";
  const Point none = overlay(rows, {}).at(0);
  EXPECT_EQ(none.verdict, "no-roof");
  EXPECT_EQ(none.missing, "no f32 peak of scalar on 1 thread");
}

TEST(Overlay, ThePeakMeasuredBesideIsTheRoof) {
  // 1e9 FLOP in 16 ms; beside it AVX2 gave 80 GFLOP/s, not 100, and the scalar unit 5: 12.5 ms.
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e8}}, 16e-3), kernel(8e6, {}, 100e-6),
                                 kernel(5e6, {}, 1e-3)};
  for (int probe : {1, 2}) {
    rows[probe].kernel = "fma_peak";
    rows[probe].variant = "avx2";
    rows[probe].roof_of = "a";
  }
  rows[2].exec_unit = "scalar";
  const Point point = overlay(rows, ceilings()).at(0);
  EXPECT_DOUBLE_EQ(point.t_math_s, 12.5e-3);
  EXPECT_DOUBLE_EQ(point.t_lower_s, 12.5e-3);
  EXPECT_DOUBLE_EQ(point.t_upper_s, 13.5e-3);
  EXPECT_DOUBLE_EQ(point.fraction_of_roof, 12.5 / 16);
  EXPECT_DOUBLE_EQ(point.ridge_intensity, 0.8);
  EXPECT_EQ(point.roof, "compute/f32/fma_peak/simd-avx2/threads:1");
  // Above what was beside it, but not above the ceiling.
  rows[0].times_s = {11e-3};
  rows[1].times_s = {100e-6};
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "above-roof");
  EXPECT_EQ(overlay(rows, ceilings())[0].times_its_ceiling, 0);
}

TEST(Overlay, APeakThatWasDisturbedLimitsNothingThatIsFaster) {
  // 1e9 FLOP in 11 ms: above the 80 GFLOP/s beside it, below the ceiling's 100.
  std::vector<Benchmark> rows = {kernel(1e9, {{"L2", 1e8}}, 11e-3), kernel(8e6, {}, 100e-6)};
  rows[1].kernel = "fma_peak";
  rows[1].variant = "avx2";
  rows[1].roof_of = "a";
  for (Benchmark& row : rows) {
    row.lived_times_s = row.times_s = std::vector<double>(3, row.times_s[0]);
    row.beside = std::vector<Surroundings>(3, {.issue_per_cycle = 2});
    row.quiet_at = row.own_cores_at = {true, true, true};
    row.quiet_samples = 3;
  }
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "above-roof");
  rows[0].quiet_samples = 2;  // all count
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "not-quiet");
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_math_s, 10e-3);
  // So the ceiling's clock excuses as if there were no probe: 5 % above it at 8 % more clock.
  auto limits = ceilings();
  limits[0].clock_hz = 3e9;
  rows[0].clock_hz = 3.24e9;
  rows[0].lived_times_s = rows[0].times_s = std::vector<double>(3, 1e-2 / 1.05);
  EXPECT_EQ(overlay(rows, limits)[0].verdict, "not-quiet");
  // What is below it is still held by it, and what is above the ceiling too is above.
  rows[0].lived_times_s = rows[0].times_s = std::vector<double>(3, 16e-3);
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_math_s, 12.5e-3);
  rows[0].lived_times_s = rows[0].times_s = std::vector<double>(3, 5e-3);
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "above-roof");
}

TEST(Overlay, OnlyMomentsThatWereQuietOnBothSidesTellOfTheMemoryBeside) {
  std::vector<Benchmark> rows = {kernel(2e6, {{"DRAM", 8e6}}, 1e-3),
                                 kernel(0, {{"DRAM", 8e6}}, 1e-3)};
  rows[1].kernel = "stream";
  rows[1].variant = "avx2";
  rows[1].roof_of = "a";
  for (Benchmark& row : rows) {
    row.lived_times_s = {1e-3, 2e-3, 4e-3, 1e-3};
    row.beside = std::vector<Surroundings>(4, {.issue_per_cycle = 2});
    row.quiet_at = row.own_cores_at = {true, true, true, true};
    row.quiet_samples = 4;
    row.times_s = row.lived_times_s;
  }
  rows[1].lived_times_s = {0.5e-3, 1e-3, 2e-3, 9e-3};
  rows[1].quiet_at[3] = false;
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].fraction_of_roof, 0.5);
  rows[1].quiet_at[2] = false;  // two pairs are too few: the ceiling, 400 us of 1.5 ms
  EXPECT_NEAR(overlay(rows, ceilings())[0].fraction_of_roof, 0.4 / 1.5, 1e-9);
  // Where all samples of the row count, so do all pairs: ratios of 0.5, 0.7, 0.7 and 9.
  rows[0].quiet_samples = 2;
  rows[1].lived_times_s = {0.5e-3, 1.4e-3, 2.8e-3, 9e-3};
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].fraction_of_roof, 0.7);
  // Of two probes the one that is faster beside the row, not in other moments.
  rows.push_back(rows[1]);
  rows[2].lived_times_s = {0.6e-3, 1.2e-3, 2.4e-3, 9e-3};
  rows[1].times_s = {0.1e-3};
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].fraction_of_roof, 0.6);
}

TEST(Overlay, TheRowsOwnMemoryGoesBeforeTheProbeBeside) {
  // 8e6 bytes in 1 ms; its own memory gave 10, 10 and 16 GB/s in samples of 1, 1 and 2 ms, which is
  // 10e6, 10e6 and 32e6 bytes: the median over 1 ms, 10 GB/s. The probe beside would say 8.
  std::vector<Benchmark> rows = {kernel(2e6, {{"DRAM", 8e6}}, 1e-3),
                                 kernel(0, {{"DRAM", 8e6}}, 1e-3)};
  rows[1].kernel = "stream";
  rows[1].variant = "avx2";
  rows[1].roof_of = "a";
  rows[0].lived_times_s = rows[0].times_s = {1e-3, 1e-3, 2e-3};
  rows[0].beside = {{.own_memory_bytes_per_s = 10e9},
                    {.own_memory_bytes_per_s = 10e9},
                    {.own_memory_bytes_per_s = 16e9}};
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_level_s, 800e-6);
  // Of samples that are set apart nothing is taken: 20 GB/s in the only one that counts.
  rows[0].quiet_at = {false, false, true};
  rows[0].quiet_samples = 1;
  rows[0].times_s = {2e-3};
  rows[0].beside[2].own_memory_bytes_per_s = 20e9;
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_level_s, 400e-6);
  // Where none was read, the probe.
  for (Surroundings& beside : rows[0].beside) beside.own_memory_bytes_per_s = kUnknownNumber;
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_level_s, 1e-3);
}

TEST(Overlay, WhatHasReadNoMemoryHasTheRoofOfAKernelInTurnsWithIt) {
  // In samples of 1, 2 and 4 ms the kernel beside it saw 8, 12 and 4 GB/s: 8e6, 24e6 and 16e6 bytes
  // could have come, 16e6 in the median 2 ms: 8 GB/s, and 1 ms for 8e6 bytes.
  std::vector<Benchmark> rows = {kernel(2e6, {{"DRAM", 8e6}}, 1e-3),
                                 kernel(2e6, {{"DRAM", 8e6}}, 1e-3)};
  rows[0].library = "OpenBLAS";
  rows[0].lived_times_s = rows[0].times_s = {1e-3, 2e-3, 4e-3};
  rows[0].beside.resize(3);
  rows[1].beside = {{.own_memory_bytes_per_s = 8e9},
                    {.own_memory_bytes_per_s = 12e9},
                    {.own_memory_bytes_per_s = 4e9}};
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_level_s, 1e-3);
  rows[1].source = "another file";
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].t_level_s, 400e-6) << "the ceiling";
}

TEST(Overlay, AboveTheMemoryBesideIsNotAboveTheCeiling) {
  // 8e6 bytes in 600 us; the probe beside says 800 us, the ceiling 400 us.
  std::vector<Benchmark> rows = {kernel(2e6, {{"DRAM", 8e6}}, 600e-6),
                                 kernel(0, {{"DRAM", 10e6}}, 1e-3)};
  rows[1].kernel = "stream";
  rows[1].variant = "avx2";
  rows[1].roof_of = "a";
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "above-roof");
  EXPECT_EQ(overlay(rows, ceilings())[0].times_its_ceiling, 0);
  // The probe 200 us, the ceiling 400 us, the kernel 250 us: the other way round.
  rows[0].times_s = {250e-6};
  rows[1].times_s = {250e-6};
  EXPECT_EQ(overlay(rows, ceilings())[0].verdict, "ok");
  EXPECT_DOUBLE_EQ(overlay(rows, ceilings())[0].times_its_ceiling, 1.6);
}

TEST(Overlay, ProbesAreNoKernels) {
  std::vector<Benchmark> rows = {kernel(1e6, {{"L2", 1e6}}, 1e-3)};
  rows[0].kernel = "stream";
  rows[0].variant = "avx2";
  EXPECT_TRUE(overlay(rows, ceilings()).empty());
}

TEST(Overlay, ASpecChipServesAnyDeviceAndThreadCount) {
  std::vector<Ceiling> chip = {ceiling("compute", "", "tensor", kUnknownNumber),
                               ceiling("bandwidth", "HBM", "", kUnknownNumber)};
  for (Ceiling& c : chip) {
    c.device = "";
    c.machine = "chip";
  }
  chip[0].advertised = 1e15;
  chip[1].advertised = 3e12;
  std::vector<Benchmark> rows = {kernel(1e9, {{"DRAM", 3e9}}, 2e-3)};
  rows[0].threads = 7;
  const auto points = overlay(rows, chip);
  EXPECT_EQ(points[0].roof, "chip/bandwidth/HBM");
  EXPECT_DOUBLE_EQ(points[0].fraction_of_roof, 0.5);
  EXPECT_DOUBLE_EQ(points[0].advertised_roof_flops_per_s, 1e12);
}

}  // namespace
}  // namespace roofline
