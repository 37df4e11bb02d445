#include "bench/own_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bench {
namespace {

/// Memory whose loops read 100 bytes at given rates.
class Read final : public kernels::Problem {
 public:
  void run(std::int64_t, std::int64_t) override {}
  std::string verify() override { return {}; }
  kernels::Cost cost() const override { return {}; }
  kernels::LevelBytes traffic() const override { return {}; }
  double working_set_bytes() const override { return 0; }
  std::pair<std::string, std::string> exec_unit() const override { return {}; }
  double read_own_memory(int loop, std::int64_t next_call) override {
    EXPECT_EQ(next_call, 7);
    if (loop >= static_cast<int>(rates.size())) return 0;
    now += 100 / rates[loop];
    return 100;
  }

  std::vector<double> rates;
  double now = 0;
};

TEST(OwnMemory, IsThatOfTheLoopThatHasBeenFastest) {
  Read problem;
  OwnMemory own;
  const auto rate = [&](std::vector<double> rates) {
    problem.rates = std::move(rates);
    return own.rate(problem, 7, [&] { return problem.now; });
  };
  EXPECT_DOUBLE_EQ(rate({10, 20}), 20);
  EXPECT_DOUBLE_EQ(rate({10, 16}), 16);
  EXPECT_DOUBLE_EQ(rate({40, 15}), 15) << "once by chance";
  EXPECT_DOUBLE_EQ(rate({40, 14}), 14) << "twice of four";
  EXPECT_DOUBLE_EQ(rate({40, 14}), 40) << "three times of five";
}

TEST(OwnMemory, IsNotKnownWhereTheProblemDoesNotOfferIt) {
  Read problem;
  OwnMemory own;
  EXPECT_TRUE(std::isnan(own.rate(problem, 7, [&] { return problem.now; })));
}

}  // namespace
}  // namespace bench
