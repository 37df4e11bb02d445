#include "roofline/results/quiet.hpp"

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

constexpr Surroundings kQuiet{3 * kGHz, 2, 5, 0, kUnknownNumber};
constexpr Surroundings kShared{3 * kGHz, 1, 5, 0, kUnknownNumber};

TEST(Quiet, SamplesOnSharedCoresAreSetApart) {
  std::vector<Benchmark> rows = {row({kQuiet, kShared, kQuiet, kQuiet, kShared, kQuiet})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4, 6}));
  EXPECT_EQ(rows[0].quiet_samples, 4u);
  EXPECT_EQ(rows[0].samples_rejected(), 2);
  EXPECT_TRUE(rows[0].quiet());
  EXPECT_EQ(rows[0].lived_times_s.size(), 6u);
}

TEST(Quiet, ACoreSharedWithAThreadThatDoesNotMultiplyIsSeen) {
  // 3.75 of 5 are too few on one core, and in order on four, of which one or two may be shared.
  const Surroundings busy{3 * kGHz, 2, 3.75, 0, kUnknownNumber};
  const Surroundings worse{3 * kGHz, 2, 3, 0, kUnknownNumber};
  std::vector<Benchmark> rows = {row({kQuiet, busy, kQuiet, kQuiet, worse}, 1),
                                 row({kQuiet, busy, kQuiet, kQuiet, worse}, 4)};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[1].times_s, (std::vector<double>{1, 2, 3, 4}));
}

void shorten(Benchmark& row) {
  for (double& time : row.lived_times_s) time *= 1e-6;
}

TEST(Quiet, CoresOnTwoLastCachesAreSetApartInShortCalls) {
  Surroundings near = kQuiet, far = kQuiet;
  near.handover_s = 53e-9, far.handover_s = 303e-9;
  std::vector<Benchmark> rows = {row({near, far, near, near}), row({far, far, far}, 2),
                                 row({near, far, near, near})};
  shorten(rows[0]);
  shorten(rows[1]);
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1e-6, 3e-6, 4e-6}));
  EXPECT_TRUE(rows[1].quiet());  // of other threads: nothing nearer was seen
  EXPECT_EQ(rows[2].quiet_samples, 4u);
}

TEST(Quiet, MemoryIsHeldAgainstThatOfCoresAsFarAndTheCommonerStateCounts) {
  Surroundings near = kQuiet, far = kQuiet;
  near.handover_s = 53e-9, far.handover_s = 303e-9;
  near.memory_bytes_per_s = 32e9, far.memory_bytes_per_s = 60e9;
  Surroundings taken = far;
  taken.memory_bytes_per_s = 32e9;
  std::vector<Benchmark> rows = {row({near, near, near, far}), row({far, near, far, far, taken}),
                                 row({near, far, near, far})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(rows[1].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[2].quiet_at, (std::vector<bool>{true, false, true, false}));
}

TEST(Quiet, RatiosAreOfSamplesWithCoresEquallyFar) {
  Surroundings near = kQuiet, far = kQuiet;
  near.handover_s = 53e-9, far.handover_s = 303e-9;
  std::vector<Benchmark> rows = {row({near, far, far, far, far}), row({near, far, far, near, far})};
  rows[1].lived_times_s = {2, 2, 3, 2, 5};
  for (Benchmark& row : rows) shorten(row);
  set_disturbed_apart(rows);
  EXPECT_EQ(paired_ratios(rows[0], rows[1]), (std::vector<double>{2, 1, 1, 1}));
}

TEST(Quiet, MemoryQuietWithCoresNearIsNotComparedWithThatOfCoresFar) {
  Surroundings near = kQuiet, far = kQuiet;
  near.handover_s = 53e-9, far.handover_s = 303e-9;
  near.memory_bytes_per_s = 32e9, far.memory_bytes_per_s = 60e9;
  std::vector<Benchmark> rows = {row({far, far, far, far, near, far}),
                                 row({near, near, near, far, near, far})};
  for (const std::size_t i : {0, 1, 2}) rows[1].lived_times_s[i] = 1000;
  set_disturbed_apart(rows);
  EXPECT_TRUE(rows[0].quiet_at[0] && rows[1].quiet_at[0]);
  EXPECT_EQ(paired_ratios(rows[0], rows[1]), (std::vector<double>{1, 1, 1}));
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

TEST(Quiet, SamplesThatDisagreeOrWereNotQuietAreTooFew) {
  std::vector<Benchmark> rows = {row({kQuiet, kQuiet, kQuiet}), row({kQuiet, kQuiet, kQuiet}),
                                 row({kQuiet, kQuiet, kShared})};
  rows[0].lived_times_s = {1, 1.17, 0.83};  // relative MAD 0.17
  rows[1].lived_times_s = {1, 1.15, 0.85};
  rows[2].lived_times_s = {1, 1, 1};
  set_disturbed_apart(rows);
  EXPECT_TRUE(wants_samples(rows[0]));
  EXPECT_FALSE(wants_samples(rows[1]));
  EXPECT_TRUE(wants_samples(rows[2]));
}

TEST(Quiet, AFallenClockIsSeenWithinABenchmark) {
  // 2.7 of 3 GHz is a fall; another benchmark that runs at 2.7 GHz throughout is quiet.
  const Surroundings slow{2.7 * kGHz, 2, 5, 0, kUnknownNumber};
  std::vector<Benchmark> rows = {row({kQuiet, slow, kQuiet, kQuiet}), row({slow, slow, slow})};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[1].quiet_samples, 3u);
}

TEST(Quiet, TheClockIsThatOfTheSamplesThatCount) {
  const Surroundings slow{2.7 * kGHz, 2, 5, 0, kUnknownNumber};
  std::vector<Benchmark> rows = {row({kQuiet, slow, slow, kQuiet, slow, slow, kQuiet}),
                                 row({kQuiet, slow, kShared, slow, kShared})};
  for (Benchmark& each : rows) each.lived_clock_hz = 2.7 * kGHz;
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].clock_hz, 3 * kGHz);
  EXPECT_EQ(rows[0].lived_clock_hz, 2.7 * kGHz);
  EXPECT_EQ(rows[1].clock_hz, 2.7 * kGHz);  // too few were quiet: all count
}

TEST(Quiet, AFallenMemoryBandwidthIsSeenAmongTheSameThreads) {
  const Surroundings full{3 * kGHz, 2, 5, 0, 40e9}, taken{3 * kGHz, 2, 5, 0, 20e9},
      one{3 * kGHz, 2, 5, 0, 15e9};
  std::vector<Benchmark> rows = {row({full, taken, full, full}), row({one, one, one}, 1)};
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(rows[1].quiet_samples, 3u);
}

TEST(Quiet, OtherProcessesOnTheCpusAreSeen) {
  const Surroundings crowded{3 * kGHz, 2, 5, 0.1, kUnknownNumber};
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

TEST(Quiet, WhereNobodyWatchedAFallenClockRejectsNothing) {
  // A GPU at its power limit: the peak beside a kernel keeps all of its samples, too.
  const Surroundings fast{.clock_hz = 1.98 * kGHz}, capped{.clock_hz = 1.4 * kGHz};
  std::vector<Benchmark> rows = {row({fast, capped, fast, capped, capped, fast})};
  rows[0].clock_hz = rows[0].lived_clock_hz = 1.4 * kGHz;
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].times_s, rows[0].lived_times_s);
  EXPECT_EQ(rows[0].samples_rejected(), 0);
  EXPECT_DOUBLE_EQ(rows[0].clock_hz, 1.69 * kGHz);
}

TEST(Quiet, ARatioIsOfPairsThatAreBothQuiet) {
  // Times are 1, 2, 3 … of both: the library's are tripled, so any mix of pairs would show.
  std::vector<Benchmark> rows = {
      row({kQuiet, kShared, kQuiet, kQuiet, kQuiet, kQuiet, kQuiet, kQuiet, kQuiet, kQuiet}),
      row({kQuiet, kQuiet, kQuiet, kQuiet, kShared, kQuiet, kQuiet, kQuiet, kQuiet, kQuiet})};
  for (double& time : rows[1].lived_times_s) time *= 3;
  rows[1].lived_times_s[0] = 100;
  rows[1].lived_times_s[1] = 100;  // ours was disturbed there
  rows[1].lived_times_s[4] = 100;  // the library was
  set_disturbed_apart(rows);
  EXPECT_DOUBLE_EQ(paired_ratio(rows[0], rows[1]), 3);
  rows[1].lived_times_s.resize(3);
  rows[1].beside.resize(3);
  set_disturbed_apart(rows);
  EXPECT_TRUE(std::isnan(paired_ratio(rows[0], rows[1]))) << "two pairs are too few";
}

TEST(Quiet, ARatioIsAlsoOfPairsThatHadTheSameLittleMemory) {
  constexpr Surroundings kWide{3 * kGHz, 2, 5, 0, 60e9}, kNarrow{3 * kGHz, 2, 5, 0, 35e9},
      kNearly{3 * kGHz, 2, 5, 0, 38e9}, kSharedToo{3 * kGHz, 1, 5, 0, 35e9};
  std::vector<Benchmark> rows = {
      row({kNarrow, kNarrow, kNarrow, kNarrow, kSharedToo, kWide, kWide}),
      row({kNarrow, kNearly, kNearly, kWide, kSharedToo, kWide, kNarrow})};
  for (double& time : rows[1].lived_times_s) time *= 3;
  for (const std::size_t i : {3, 4, 6}) rows[1].lived_times_s[i] = 1000;  // not to be compared
  set_disturbed_apart(rows);
  EXPECT_EQ(rows[0].quiet_samples, 2u);
  EXPECT_EQ(paired_ratios(rows[0], rows[1]), (std::vector<double>{3, 3, 3, 3}));
}

TEST(Quiet, WithoutWindowsARatioIsOfTheMedians) {
  std::vector<Benchmark> rows = {row({{}, {}, {}}), row({{}, {}, {}, {}, {}})};
  set_disturbed_apart(rows);
  EXPECT_DOUBLE_EQ(paired_ratio(rows[0], rows[1]), 3.0 / 2.0);
}

}  // namespace
}  // namespace roofline
