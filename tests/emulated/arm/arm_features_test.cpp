// The emulated processor must have every instruction set, or the tests of its kernels are skipped
// and prove nothing.
#include <gtest/gtest.h>

#include "kernels/registry.hpp"

namespace kernels {
namespace {

TEST(ArmFeatures, AllAreThereSoThatNoKernelIsSkipped) {
  for (const Need need : {Need::neon, Need::neon_dotprod, Need::neon_bf16})
    EXPECT_EQ(missing(need), "");
}

}  // namespace
}  // namespace kernels
