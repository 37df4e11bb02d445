// Every AVX-512 and AMX kernel in the registry, computed by SIMDe's code and plain loops, against
// its operation's oracle.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace kernels {
namespace {

std::vector<KernelInfo> avx512_kernels() {
  std::vector<KernelInfo> found;
  for (const auto& kernel : all_kernels())
    if (kernel.needs == Need::avx512 || kernel.needs == Need::avx512_bf16 ||
        kernel.needs == Need::avx512_vnni || kernel.needs == Need::amx)
      found.push_back(kernel);
  return found;
}

/// Cache sizes that small test cases overflow at every level, so that blocking has edges; an L1 as
/// CPUs with AMX have it.
constexpr Caches kCaches = {
    .l1d = 48 << 10, .l2 = 256 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 4};

class Avx512Emulated : public testing::TestWithParam<KernelInfo> {};

TEST_P(Avx512Emulated, EqualsOracle) {
  if (const auto why = missing(Need::avx2); !why.empty()) GTEST_SKIP() << why;
  const KernelInfo& kernel = GetParam();
  const Operation& operation = operation_of(kernel);
  int done = 0;
  for (const Case& c : operation.test_cases()) {
    if (!operation.supports(kernel, c)) continue;
    ++done;
    EXPECT_EQ(operation.bind(kernel, c, kCaches)->verify(), "") << c.name();
  }
  EXPECT_GT(done, 0) << "no test case reaches this kernel";
}

INSTANTIATE_TEST_SUITE_P(Kernels, Avx512Emulated, testing::ValuesIn(avx512_kernels()),
                         [](const auto& info) {
                           return std::string(info.param.op) + "_" +
                                  std::string(info.param.variant);
                         });

}  // namespace
}  // namespace kernels
