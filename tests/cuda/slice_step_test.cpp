// The order in which blocks of the bandwidth probe come to each other's slices.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/stream/stream_gpu.hpp"

namespace kernels::stream {
namespace {

TEST(SliceStep, ComesToEverySliceAndNeverNearTheSmThatReadItLast) {
  for (const int sms :
       {16, 46, 58, 66, 68, 72, 76, 82, 84, 108, 114, 128, 132, 142, 148, 170, 188}) {
    const int step = slice_step(sms, 2);
    EXPECT_EQ(std::gcd(step, 2 * sms), 1) << sms;
    for (const int passes : {1, 2}) {
      const int moved = passes * step % sms;
      EXPECT_GE(std::min(moved, sms - moved), sms / 8) << sms << " SMs, passes " << passes;
    }
    EXPECT_TRUE(stays_apart(sms, step)) << sms;
  }
  EXPECT_EQ(slice_step(1, 2), 1);
  EXPECT_EQ(slice_step(132, 2), 49);
  EXPECT_FALSE(stays_apart(132, 53));  // five passes on it is the next SM's turn
}

}  // namespace
}  // namespace kernels::stream
