// What the harness makes of NVML's answers.
#include "bench/nvml.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

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
  EXPECT_TRUE(std::isnan(s.memory_clock_hz));
  EXPECT_EQ(s.throttle, 0x4u);
  EXPECT_FALSE(summarise(samples, 10, 11).throttle_known);
}

TEST(Summarise, TakesTheMeanOfASecondWhereThatSecondIsInside) {
  std::deque<GpuState> samples(3);
  samples[0] = {.time_s = 1.9, .last_second_w = 100};
  samples[1] = {.time_s = 2.1, .last_second_w = 300};
  samples[2] = {.time_s = 2.5, .last_second_w = 500};
  EXPECT_EQ(summarise(samples, 1, 3).power_w, 400);
  EXPECT_TRUE(std::isnan(summarise(samples, 1.6, 2.55).power_w));
  samples[0].power_w = 650;
  EXPECT_EQ(summarise(samples, 1, 3).power_w, 650);
}

TEST(NvmlSampler, ALookIsTakenWhenAskedFor) {
  for (const char* instant : {"", "650000"}) {
    if (*instant != '\0') setenv("FAKE_NVML_INSTANT", instant, 1);
    NvmlSampler sampler("0000:01:00.0", 1000, TEST_BINARY_DIR "/libfake_nvml.so");
    while (!sampler.over(0, NvmlSampler::now_s()).throttle_known) std::this_thread::yield();
    const double from = NvmlSampler::now_s();
    EXPECT_FALSE(sampler.over(from, from + 100).throttle_known);
    sampler.look_now();
    const GpuState s = sampler.over(from, from + 100);
    unsetenv("FAKE_NVML_INSTANT");
    EXPECT_TRUE(s.throttle_known);
    EXPECT_EQ(s.throttle, 0x44u);
    EXPECT_EQ(s.sm_clock_hz, 1.755e9);
    if (*instant == '\0')
      EXPECT_TRUE(std::isnan(s.power_w));  // the second before is another span's too
    else
      EXPECT_EQ(s.power_w, 650);
  }
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
