#include "bench/calibrate.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace bench {
namespace {

/// Calls that take `call` seconds on a clock of their own, some runs longer by a stall.
class Clocked final : public kernels::Problem {
 public:
  Clocked(double call, std::vector<double> stalls) : call_(call), stalls_(std::move(stalls)) {}

  void run(std::int64_t, std::int64_t count) override {
    now_ += call_ * static_cast<double>(count);
    if (runs_ < stalls_.size()) now_ += stalls_[runs_];
    ++runs_;
  }
  std::string verify() override { return {}; }
  kernels::Cost cost() const override { return {}; }
  kernels::LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return 0; }
  std::pair<std::string, std::string> exec_unit() const override { return {}; }

  std::int64_t calibrated() {
    return calibrate(*this, [this] { return now_; });
  }
  std::size_t runs() const { return runs_; }

 private:
  double call_, now_ = 0;
  std::vector<double> stalls_;
  std::size_t runs_ = 0;
};

TEST(Calibrate, MakesABatchOf200Microseconds) {
  EXPECT_EQ(Clocked(1e-6, {}).calibrated(), 256);
  EXPECT_EQ(Clocked(150e-6, {}).calibrated(), 2);
  EXPECT_EQ(Clocked(1e-3, {}).calibrated(), 1);
}

TEST(Calibrate, IsNotMisledByAStall) {
  EXPECT_EQ(Clocked(1e-6, {8e-3}).calibrated(), 256);
  EXPECT_EQ(Clocked(1e-6, {0, 0, 20e-3, 300e-6}).calibrated(), 256);
}

TEST(Calibrate, TriesALongCallTwiceAndAVeryLongOneOnce) {
  Clocked is_long(20e-3, {}), very_long(0.3, {});
  EXPECT_EQ(is_long.calibrated(), 1);
  EXPECT_EQ(is_long.runs(), 2);
  EXPECT_EQ(very_long.calibrated(), 1);
  EXPECT_EQ(very_long.runs(), 1);
}

}  // namespace
}  // namespace bench
