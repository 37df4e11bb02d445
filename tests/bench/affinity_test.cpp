#include "bench/affinity.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <latch>
#include <string>
#include <thread>

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

// A library may have started its threads when it was loaded.
TEST(ConfinedTeam, KeepsThreadsThatAreThereAlready) {
  const int cpus = kernels::CpuMask::mine().count(), here = sched_getcpu();
  std::latch confined(1);
  int of_other = 0;
  std::thread other([&] {
    confined.wait();
    of_other = kernels::CpuMask::mine().count();
  });
  {
    const ConfinedTeam team(1, {here});
    EXPECT_EQ(kernels::CpuMask::mine().count(), 1);
    confined.count_down();
    other.join();
  }
  EXPECT_EQ(of_other, 1);
  EXPECT_EQ(kernels::CpuMask::mine().count(), cpus);
}

TEST(FreshThreads, WorkAllAtTheSameTime) {
  std::latch all(3);
  std::atomic<int> seen = 0;
  run_on_fresh_threads(3, {}, [&](int thread) {
    all.arrive_and_wait();
    seen += 1 << thread;
  });
  EXPECT_EQ(seen, 7);
}

// Those that are there would wait for the others for ever.
TEST(FreshThreads, TooFewAreRefusedAndNothingIsWorkedOn) {
  constexpr int kThreads = 512;  // 4 GB of stacks, as a rule
  constexpr rlim_t kRoom = rlim_t{256} << 20;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit little{pages * 4096 + kRoom, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  std::atomic<int> worked = 0;
  std::string fault;
  try {
    run_on_fresh_threads(kThreads, {}, [&](int) { ++worked; });
  } catch (const kernels::BadInput& e) {
    fault = e.what();
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(worked, 0);
  EXPECT_TRUE(fault.starts_with("512 threads are needed beside a library's, ")) << fault;
}

}  // namespace
}  // namespace bench
