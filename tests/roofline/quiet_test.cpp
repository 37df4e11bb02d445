#include "roofline/quiet.hpp"

#include <gtest/gtest.h>

namespace roofline {
namespace {

constexpr double kGHz = 1e9;

/// Samples of 1 s, 2 s, … with these windows.
Benchmark row(std::vector<Surroundings> beside, int threads = 4) {
  Benchmark b;
  b.threads = threads;
  for (std::size_t i = 0; i < beside.size(); ++i) {
    b.lived_times_s.push_back(static_cast<double>(i + 1));
  }
  b.times_s = b.lived_times_s;
  b.beside = std::move(beside);
  return b;
}

constexpr Surroundings kQuiet{3 * kGHz, 2, 0, kUnknownNumber};
constexpr Surroundings kShared{3 * kGHz, 1, 0, kUnknownNumber};

TEST(Quiet, SamplesOnSharedCoresAreSetApart) {
  std::vector<Benchmark> rows = {row({kQuiet, kShared, kQuiet, kQuiet, kShared, kQuiet})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4, 6}));
  EXPECT_EQ(rows[0].quiet_samples, 4u);
  EXPECT_EQ(rows[0].samples_rejected(), 2);
  EXPECT_TRUE(rows[0].quiet());
  EXPECT_EQ(rows[0].lived_times_s.size(), 6u);
}

TEST(Quiet, TheReferenceIsTheWholeRuns) {
  // Shared throughout: only what the other row saw tells.
  std::vector<Benchmark> rows = {row({kShared, kShared, kShared}),
                                 row({kQuiet, kQuiet, kQuiet}, 1)};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].quiet_samples, 0u);
  EXPECT_FALSE(rows[0].quiet());
  EXPECT_EQ(rows[0].times_s.size(), 3u);  // as lived
  EXPECT_EQ(rows[0].samples_rejected(), 0);
  EXPECT_TRUE(rows[1].quiet());
}

TEST(Quiet, ARunThatIsSharedThroughoutIsSeenByTheCoresOwnFigure) {
  std::vector<Benchmark> rows = {row({kShared, kShared, kShared})};
  set_disturbed_apart(rows);
  EXPECT_TRUE(rows[0].quiet());
  set_disturbed_apart(rows, 2);
  EXPECT_FALSE(rows[0].quiet());
}

TEST(Quiet, TwoQuietSamplesAreTooFew) {
  std::vector<Benchmark> rows = {row({kQuiet, kQuiet, kShared, kShared})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].quiet_samples, 2u);
  EXPECT_FALSE(rows[0].quiet());
  EXPECT_EQ(rows[0].times_s.size(), 4u);
}

TEST(Quiet, AFallenClockIsSeenWithinABenchmark) {
  // 2.7 of 3 GHz is a fall; another benchmark that runs at 2.7 GHz throughout is quiet.
  const Surroundings slow{2.7 * kGHz, 2, 0, kUnknownNumber};
  std::vector<Benchmark> rows = {row({kQuiet, slow, kQuiet, kQuiet}), row({slow, slow, slow})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[1].quiet_samples, 3u);
}

TEST(Quiet, AFallenMemoryBandwidthIsSeenAmongTheSameThreads) {
  const Surroundings full{3 * kGHz, 2, 0, 40e9}, taken{3 * kGHz, 2, 0, 20e9},
      one{3 * kGHz, 2, 0, 15e9};
  std::vector<Benchmark> rows = {row({full, taken, full, full}), row({one, one, one}, 1)};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[1].quiet_samples, 3u);
}

TEST(Quiet, OtherProcessesOnTheCpusAreSeen) {
  const Surroundings crowded{3 * kGHz, 2, 0.1, kUnknownNumber};
  std::vector<Benchmark> rows = {row({kQuiet, crowded, kQuiet, kQuiet})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
}

TEST(Quiet, WhatIsNotKnownRejectsNothing) {
  std::vector<Benchmark> rows = {row({{}, {}, {}})};
  set_disturbed_apart(rows);
  EXPECT_FALSE(rows[0].gated());
  EXPECT_EQ(rows[0].times_s.size(), 3u);
}

TEST(Quiet, ARatioNeedsTheSameWindows) {
  const auto with_quiet = [](std::size_t quiet, std::size_t all) {
    Benchmark b = row(std::vector<Surroundings>(all, kQuiet));
    b.quiet_samples = quiet;
    return b;
  };
  EXPECT_TRUE(same_windows(with_quiet(20, 20), with_quiet(18, 20)));
  EXPECT_FALSE(same_windows(with_quiet(20, 20), with_quiet(17, 20)));
  EXPECT_TRUE(same_windows(with_quiet(6, 6), with_quiet(5, 6)));  // one sample is 17 points
  EXPECT_FALSE(same_windows(with_quiet(6, 6), with_quiet(4, 6)));
  EXPECT_TRUE(same_windows(row({{}, {}}), with_quiet(4, 6)));
}

}  // namespace
}  // namespace roofline
