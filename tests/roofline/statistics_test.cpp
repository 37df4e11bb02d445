#include "roofline/base/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace roofline {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 1.0);
  std::reverse(out.begin(), out.end());  // the order must not matter
  return out;
}

TEST(Statistics, Median) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_EQ(median({100, 1, 2}), 2);
}

// Ranks from the table of Conover's book and R's binom: the k-th smallest and k-th largest.
TEST(Statistics, IntervalRanks) {
  EXPECT_FALSE(median_interval(one_to(5)).has_value());  // 1 - 2/2^5 = 0.9375
  const struct {
    int n;
    double low, high;
  } known[] = {
      {6, 1, 6},     // 0.96875
      {8, 1, 8},     // 0.9922; k = 2 would be 0.9297
      {9, 2, 8},     // 0.9609
      {10, 2, 9},    // 0.9785
      {15, 4, 12},   // 0.9648
      {20, 6, 15},   // 0.9586
      {100, 40, 61}  // 0.9648
  };
  for (const auto& [n, low, high] : known) {
    const auto interval = median_interval(one_to(n));
    ASSERT_TRUE(interval.has_value()) << n;
    EXPECT_EQ(interval->first, low) << n;
    EXPECT_EQ(interval->second, high) << n;
  }
}

TEST(Statistics, IntervalOfManySamplesDoesNotUnderflow) {
  const auto interval = median_interval(one_to(5000));
  ASSERT_TRUE(interval.has_value());
  // Normal approximation: 2500 -+ 1.96 * sqrt(5000) / 2 = 2500 -+ 69.3.
  EXPECT_NEAR(interval->first, 2431, 2);
  EXPECT_NEAR(interval->second, 2570, 2);
}

TEST(Statistics, RelativeMad) {
  // Median 4; deviations 3 2 0 0 5: median 2.
  EXPECT_DOUBLE_EQ(relative_mad({1, 2, 4, 4, 9}), 0.5);
  EXPECT_EQ(relative_mad({7, 7, 7}), 0);
  EXPECT_TRUE(std::isnan(relative_mad({})));
}

TEST(Statistics, DisagreementSeesTwoKindsOfSamples) {
  // Five near 2 and four near 1: most lie near 2, and the middle third goes from 1.05 to 2.
  const std::vector<double> halves = {2, 2.1, 1.05, 2.05, 0.99, 1, 2.15, 1, 1.99};
  EXPECT_LT(relative_mad(halves), 0.1);
  EXPECT_DOUBLE_EQ(disagreement(halves), (2 - 1.05) / 2 / 1.99);
  // A third that is off leaves the median its meaning.
  EXPECT_LT(disagreement({1, 1, 1.01, 1, 1.01, 1, 2, 2, 2}), 0.02);
  EXPECT_DOUBLE_EQ(disagreement({1, 2, 4, 4, 9}), 0.5);
  EXPECT_DOUBLE_EQ(disagreement({1, 2}), 1.0 / 3);
  EXPECT_EQ(disagreement({7}), 0);
  EXPECT_TRUE(std::isnan(disagreement({})));
}

}  // namespace
}  // namespace roofline
