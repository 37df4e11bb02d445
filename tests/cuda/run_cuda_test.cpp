// What the harness makes of a GPU benchmark that fails.
#include "bench/run_cuda.hpp"

#include <gtest/gtest.h>

#include "kernels/cuda/check.hpp"

namespace bench {
namespace {

TEST(ReasonWithoutTime, IsTheCasesOwnAffair) {
  EXPECT_EQ(reason_without_time("x", [] {}), "");
  EXPECT_EQ(reason_without_time("x", [] { throw kernels::BadInput("shape: too large"); }),
            "shape: too large");
  EXPECT_EQ(reason_without_time("x", [] { throw kernels::cuda::Unsupported("cuDNN: no"); }),
            "cuDNN: no");
  EXPECT_EQ(reason_without_time("x", [] { throw kernels::cuda::OutOfMemory(); }),
            "out of memory (device or page-locked)");
}

TEST(ReasonWithoutTimeDeathTest, ABrokenContextEndsTheProgramAndNamesTheBenchmark) {
  EXPECT_EXIT(reason_without_time("dot/v/f32",
                                  [] { throw kernels::cuda::Error("cudaErrorIllegalAddress"); }),
              ::testing::ExitedWithCode(3), "^dot/v/f32: cudaErrorIllegalAddress\n$");
}

}  // namespace
}  // namespace bench
