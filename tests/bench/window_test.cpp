#include "bench/window.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace bench {
namespace {

namespace fs = std::filesystem;

class WaitedForCpu : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(tasks_ / "1"); }
  void TearDown() override { fs::remove_all(tasks_); }
  void thread(const std::string& name, const std::string& text) const {
    fs::create_directories(tasks_ / name);
    std::ofstream(tasks_ / name / "schedstat") << text;
  }
  fs::path tasks_ =
      fs::temp_directory_path() / ("roofline_window_test." + std::to_string(::getpid()));
};

TEST_F(WaitedForCpu, IsTheSumOverThreads) {
  thread("2", "5000000000 250000000 17\n");
  thread("3", "1 500000000 1\n");
  const CpuWaits before = cpu_waits(tasks_);  // 1 has ended meanwhile
  EXPECT_EQ(before.size(), 2u);
  EXPECT_DOUBLE_EQ(waited_since_s({}, before), 0.75);
  // 2 waits on, 3 ends, and 4, which began since, has waited from its start.
  thread("2", "6000000000 350000000 18\n");
  fs::remove_all(tasks_ / "3");
  thread("4", "1 20000000 1\n");
  EXPECT_DOUBLE_EQ(waited_since_s(before, cpu_waits(tasks_)), 0.12);
}

TEST_F(WaitedForCpu, IsUnknownWhereTheKernelDoesNotTell) {
  EXPECT_TRUE(std::isnan(waited_since_s({}, cpu_waits(tasks_))));
  EXPECT_TRUE(std::isnan(waited_since_s({}, cpu_waits(tasks_ / "none"))));
}

TEST(Handover, IsOfSeveralCores) {
  const Team one = [](const Work& work) { work(0); };
  EXPECT_TRUE(std::isnan(observe(1, one, false, {}).handover_s));
  const Team two = [](const Work& work) {
    std::thread other([&] { work(1); });
    work(0);
    other.join();
  };
  const double handover = observe(2, two, false, {}).handover_s;
  EXPECT_GT(handover, 1e-9);
  EXPECT_LT(handover, 1) << "known even where the other thread has no CPU";
}

}  // namespace
}  // namespace bench
