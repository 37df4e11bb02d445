// The probes of arithmetic and latency refuse a kernel that does less than it says.
#include <gtest/gtest.h>

#include "kernels/chase/chase.hpp"
#include "kernels/fma_peak/fma_peak.hpp"
#include "kernels/registry.hpp"

namespace kernels {
namespace {

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 2};

std::string verdict(const KernelInfo& info, const Case& c) {
  return operation_of(info).bind(info, c, kCaches)->verify();
}

/// Two adds of one a step, but for the last `kMissing` steps.
template <int kMissing>
double count_up(std::int64_t iterations, int one) {
  return 2.0 * one * static_cast<double>(iterations - kMissing);
}

TEST(FmaPeakVerify, RefusesAChainThatDoesOneStepFewer) {
  const fma_peak::Kernel right = {.exec_unit = "scalar", .f32 = {count_up<0>, 4}},
                         wrong = {.exec_unit = "scalar", .f32 = {count_up<1>, 4}};
  for (const int threads : {1, 3}) {
    const Case c{.dtype = "f32", .threads = threads};
    EXPECT_EQ(verdict({"fma_peak", "right", Need::none, Threads::any, "", &right}, c), "");
    EXPECT_NE(verdict({"fma_peak", "wrong", Need::none, Threads::any, "", &wrong}, c), "");
  }
}

template <int kMissing>
const chase::Node* follow(const chase::Node* node, std::int64_t loads) {
  for (std::int64_t i = kMissing; i < loads; ++i) node = node->next;
  return node;
}

TEST(ChaseVerify, RefusesAWalkOfOneLoadFewer) {
  const chase::Kernel right = {.exec_unit = "scalar", .follow = follow<0>},
                      wrong = {.exec_unit = "scalar", .follow = follow<1>};
  for (const char* size : {"128", "4096", "1048576"}) {
    const Case c{.dtype = "u64", .keys = {{"size", size}}, .threads = 2};
    EXPECT_EQ(verdict({"chase", "right", Need::none, Threads::any, "", &right}, c), "") << size;
    EXPECT_NE(verdict({"chase", "wrong", Need::none, Threads::any, "", &wrong}, c), "") << size;
  }
}

TEST(ChaseTraffic, IsALinePastL1) {
  const chase::Kernel kernel = {.exec_unit = "scalar", .follow = follow<0>};
  const KernelInfo info = {"chase", "of a test", Need::none, Threads::any, "", &kernel};
  const Case c{.dtype = "u64", .keys = {{"size", "262144"}}, .threads = 2};
  const LevelBytes bytes = operation_of(info).bind(info, c, kCaches)->traffic();
  EXPECT_EQ(bytes.l1, 2 * 8);
  EXPECT_EQ(bytes.l2, 2 * 64);
  EXPECT_TRUE(bytes.dram != bytes.dram) << "half of L2 a thread";
}

}  // namespace
}  // namespace kernels
