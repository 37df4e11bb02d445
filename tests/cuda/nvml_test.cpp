// What the harness makes of NVML's answers.
#include "bench/nvml.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace bench {
namespace {

TEST(ThrottleWords, NameEveryReasonButIdleness) {
  EXPECT_EQ(throttle_words(0), "none");
  EXPECT_EQ(throttle_words(0x1), "none");
  EXPECT_EQ(throttle_words(0x4), "power-cap");
  EXPECT_EQ(throttle_words(0x1 | 0x4 | 0x40), "power-cap+hardware-thermal");
}

TEST(Summarise, TakesTheMeanInsideTheSpanAndLeavesUnknownsOut) {
  std::deque<GpuState> samples(4);
  samples[0] = {.time_s = 1, .power_w = 100, .throttle_known = true, .throttle = 0x8};
  samples[1] = {.time_s = 2, .power_w = 300, .throttle_known = true, .throttle = 0x4};
  samples[2] = {.time_s = 3, .sm_clock_hz = 1.5e9, .power_w = 500};
  samples[3] = {.time_s = 4, .power_w = 900, .throttle_known = true, .throttle = 0x40};
  const GpuState s = summarise(samples, 1.5, 3.5);
  EXPECT_EQ(s.power_w, 400);
  EXPECT_EQ(s.sm_clock_hz, 1.5e9);
  EXPECT_TRUE(std::isnan(s.temperature_c));
  EXPECT_EQ(s.throttle, 0x4u);
  EXPECT_FALSE(summarise(samples, 10, 11).throttle_known);
}

TEST(NvmlSampler, KnowsNothingOfADeviceThatIsNotThere) {
  NvmlSampler sampler("ffff:ff:1f.0");
  const double now = NvmlSampler::now_s();
  const GpuState s = sampler.over(now, now);
  EXPECT_TRUE(std::isnan(s.power_w));
  EXPECT_FALSE(s.throttle_known);
}

}  // namespace
}  // namespace bench
