#include "bench/window.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace bench
