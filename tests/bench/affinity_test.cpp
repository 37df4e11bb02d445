#include "bench/affinity.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "kernels/op.hpp"

namespace bench {
namespace {

TEST(PinnedTeam, HasTheThreadsAskedFor) {
  std::atomic<int> seen = 0;
  PinnedTeam(3, {}).run([&](int thread) { seen += 1 << thread; });
  EXPECT_EQ(seen, 7);
}

// A barrier of all would wait for the others for ever.
TEST(PinnedTeam, OneThatOpenMPMakesSmallerIsRefused) {
  omp_set_dynamic(1);  // no more than the machine has
  EXPECT_THROW(PinnedTeam(512, {}), kernels::BadInput);
  omp_set_dynamic(0);
}

TEST(PinnedTeam, RunsOnTheCpusGivenAndGivesTheMaskBack) {
  const int cpus = kernels::CpuMask::mine().count(), here = sched_getcpu();
  {
    const PinnedTeam team(1, {here});
    EXPECT_EQ(kernels::CpuMask::mine().count(), 1);
    EXPECT_EQ(sched_getcpu(), here);
  }
  EXPECT_EQ(kernels::CpuMask::mine().count(), cpus);
}

TEST(PinnedTeam, OneThatIsRefusedItsCpuSaysSoOnceAndRuns) {
  constexpr int kNone = 65535;
  testing::internal::CaptureStderr();
  int ran = 0;
  for (int i = 0; i < 2; ++i) PinnedTeam(1, {kNone}).run([&](int) { ++ran; });
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(ran, 2);
  EXPECT_TRUE(told.starts_with("threads cannot be pinned to CPUs (")) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1);
}

}  // namespace
}  // namespace bench
