// What the harness makes of a GPU benchmark that fails.
#include "bench/run_cuda.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/case_list.hpp"
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

// A run lists once, and measures by these names in processes that come later.
TEST(GpuCases, HaveTheSameNamesWhateverIsFree) {
  const auto names = [](double free) {
    const kernels::Caches gpu = {.l1d = 100 << 10,
                                 .l2 = 72 << 20,
                                 .memory = static_cast<std::int64_t>(free),
                                 .installed = 24'000'000'000,
                                 .cores = 128};
    std::vector<std::string> out;
    for (const Entry& entry : list_entries({"stream", "chase", "decode"}, {.cpu = false}, {}, gpu))
      out.push_back(entry.name);
    return out;
  };
  const auto usual = names(23e9);
  EXPECT_FALSE(usual.empty());
  EXPECT_EQ(names(22.5e9), usual);
  EXPECT_EQ(names(11e9), usual);
}

}  // namespace
}  // namespace bench
