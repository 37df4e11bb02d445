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
  EXPECT_DOUBLE_EQ(waited_for_cpu_s(tasks_), 0.75);  // 1 has ended meanwhile
}

TEST_F(WaitedForCpu, IsUnknownWhereTheKernelDoesNotTell) {
  EXPECT_TRUE(std::isnan(waited_for_cpu_s(tasks_)));
  EXPECT_TRUE(std::isnan(waited_for_cpu_s(tasks_ / "none")));
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
  EXPECT_TRUE(std::isnan(handover) || (handover > 1e-9 && handover < 1e-3)) << handover;
}

}  // namespace
}  // namespace bench
