#include "roofline/results/throttle_words.hpp"

#include <gtest/gtest.h>

namespace roofline {
namespace {

TEST(UnitedReasons, KeepsEachOnce) {
  EXPECT_EQ(united_reasons("power-cap", "sync-boost+power-cap"), "power-cap+sync-boost");
  EXPECT_EQ(united_reasons("none", "power-cap"), "power-cap");
  EXPECT_EQ(united_reasons("power-cap", "none"), "power-cap");
  EXPECT_EQ(united_reasons("none", "none"), "none");
  EXPECT_EQ(united_reasons("hardware-thermal", "thermal"), "hardware-thermal+thermal");
}

TEST(UnitedReasons, WhatIsNotKnownAddsNothing) {
  EXPECT_EQ(united_reasons("", "none"), "none");
  EXPECT_EQ(united_reasons("none", ""), "none");
  EXPECT_EQ(united_reasons("", ""), "");
}

TEST(LabelWithReasons, ChangesOnlyThem) {
  EXPECT_EQ(label_with_reasons("device=gpu;throttle=none;library=x;", "throttle=power-cap;"),
            "device=gpu;throttle=power-cap;library=x;");
  EXPECT_EQ(label_with_reasons("throttle=a", "device=gpu;throttle=b"), "throttle=a+b");
  EXPECT_EQ(label_with_reasons("device=gpu;", "throttle=b;"), "device=gpu;throttle=b;");
  EXPECT_EQ(label_with_reasons("device=gpu", "throttle=b;"), "device=gpu;throttle=b;");
  EXPECT_EQ(label_with_reasons("device=gpu;throttle=a;", "device=gpu;"), "device=gpu;throttle=a;");
  EXPECT_EQ(label_with_reasons("device=gpu;", "no_throttle=b;"), "device=gpu;");
}

}  // namespace
}  // namespace roofline
