// Every registered CPU kernel on every test case of its operation, against the oracle.
#include "kernels/registry.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kernels {
namespace {

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 3};

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif

/// What a sanitizer learns nothing from: no thread alone races, and a case in whole numbers reaches
/// the same places as its twin in reals.
bool adds_nothing(const Case& c) {
  const bool twin = c.threads > 1 && c.text("data") == "integers";
  if (__has_feature(thread_sanitizer)) return c.threads == 1 || twin;
  return __has_feature(address_sanitizer) && twin;
}

class EveryKernel : public testing::TestWithParam<const KernelInfo*> {};

void expect_traffic_in_order(const Problem& problem, const Case& c) {
  const LevelBytes t = problem.traffic();
  // What a kernel's blocks do to the caches may be unknown; what memory must deliver is not.
  const bool from_memory = problem.working_set_bytes() > static_cast<double>(kCaches.l3);
  const double levels[] = {t.l1, t.l2, t.l3, t.dram};
  bool ended = false;
  for (const double& bytes : levels) {
    if (std::isnan(bytes)) {
      ended = true;
    } else {
      EXPECT_TRUE(!ended || (&bytes == &levels[3] && from_memory))
          << c.name() << ": bytes behind the level that holds the set";
      EXPECT_GT(bytes, 0) << c.name();
    }
  }
}

TEST_P(EveryKernel, IsRightOnItsTestCasesAndKeepsItsTrafficInOrder) {
  const KernelInfo& kernel = *GetParam();
  if (const auto why = missing(kernel.needs); !why.empty()) GTEST_SKIP() << why;
  const Operation& operation = operation_of(kernel);
  int supported = 0;
  for (const Case& c : operation.test_cases()) {
    if (!operation.supports(kernel, c)) continue;
    ++supported;
    if (adds_nothing(c)) continue;
    const auto problem = operation.bind(kernel, c, kCaches);
    ASSERT_NE(problem, nullptr) << c.name();
    EXPECT_EQ(problem->verify(), "") << kernel.variant << " " << c.name();
    expect_traffic_in_order(*problem, c);
    EXPECT_GE(problem->cost().flops, 0);
    EXPECT_TRUE(std::isfinite(problem->cost().bytes));
    // Which unit a library issues to is its own choice, and unknown.
    EXPECT_EQ(problem->exec_unit().first.empty(), kernel.library());
    EXPECT_FALSE(problem->exec_unit().second.empty());
  }
  EXPECT_GT(supported, 0) << "no test case reaches this kernel";
}

/// Tiles and the order in which memory is read follow from the caches and, where a kernel is for
/// some instruction set of x86, from who made the core. Probes, dot products and textbook loops do
/// not look at either.
TEST_P(EveryKernel, IsAlsoRightWithALargerL1) {
  const KernelInfo& kernel = *GetParam();
  if (const auto why = missing(kernel.needs); !why.empty()) GTEST_SKIP() << why;
  if (kernel.library()) GTEST_SKIP() << "a library looks for itself";
  const bool tiled = kernel.op == "matmul" || kernel.op == "attention" || kernel.op == "decode";
  if (!tiled || kernel.variant == "naive" || kernel.variant == "scalar" ||
      kernel.variant == "online")
    GTEST_SKIP() << "the same whatever the caches";
  const Operation& operation = operation_of(kernel);
  for (const Maker maker : {Maker::unknown, Maker::amd}) {
    const bool by_maker = kernel.needs != Need::none && kernel.needs < Need::neon;
    if (maker == Maker::amd && !by_maker) continue;
    Caches caches = kCaches;
    caches.l1d = 48 << 10;
    caches.l2 = 1 << 20;
    caches.maker = maker;
    for (const Case& c : operation.test_cases()) {
      if (!operation.supports(kernel, c) || adds_nothing(c)) continue;
      EXPECT_EQ(operation.bind(kernel, c, caches)->verify(), "")
          << kernel.variant << " " << c.name() << (maker == Maker::amd ? " on AMD" : "");
    }
  }
}

TEST(Cases, OfMatmulAndAttentionAreListedWhereMemoryDoesNotHoldThem) {
  Caches small = kCaches;
  small.memory = std::int64_t{1} << 30;
  int tried = 0;
  for (const KernelInfo& kernel : all_kernels()) {
    if (kernel.gpu() || (kernel.variant != "naive" && kernel.variant != "scalar")) continue;
    const Operation& operation = operation_of(kernel);
    if (operation.unfit == nullptr) continue;
    ++tried;
    const auto all = operation.cases(small);
    EXPECT_EQ(all.size(), operation.cases(kCaches).size());
    int unfit = 0;
    for (const Case& c : all) {
      const std::string why = operation.unfit(kernel, c, small);
      if (why.empty()) continue;
      EXPECT_EQ(why, "needs more memory than there is: this process may use 1073 MB") << c.name();
      ++unfit;
    }
    EXPECT_GT(unfit, 0) << kernel.op;
    EXPECT_LT(unfit, static_cast<int>(all.size())) << kernel.op;
  }
  EXPECT_EQ(tried, 2);
}

std::vector<const KernelInfo*> cpu_kernels() {
  std::vector<const KernelInfo*> list;
  for (const auto& kernel : all_kernels())
    if (!kernel.gpu()) list.push_back(&kernel);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryKernel, testing::ValuesIn(cpu_kernels()),
                         [](const auto& info) {
                           return std::string(info.param->op) + "_" +
                                  std::string(info.param->variant);
                         });

TEST(Registry, HasNoNameTwice) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const auto& kernel : all_kernels())
    EXPECT_TRUE(names.emplace(kernel.op, kernel.variant).second) << kernel.variant;
}

TEST(Chase, RefusesSetsThatItCannotLink) {
  const auto complaint = [](const char* size) -> std::string {
    for (const auto& kernel : all_kernels())
      if (kernel.op == "chase" && !kernel.gpu()) try {
          operation_of(kernel).bind(kernel, {.dtype = "u64", .keys = {{"size", size}}}, kCaches);
        } catch (const BadInput& e) {
          return e.what();
        }
    return "accepted";
  };
  EXPECT_EQ(complaint("64"), "shape: size:64 must be at least 128");
  EXPECT_EQ(complaint("274877906944").substr(0, 13), "shape: needs ");  // more memory than there is
  EXPECT_EQ(complaint("274877907008"), "shape: size:274877907008 must be at most 274877906944");
}

TEST(Case, RefusesBadSizes) {
  const Case c{.dtype = "f32",
               .keys = {{"N", "0"}, {"M", "-4"}, {"K", "12x"}, {"B", "99999999999999999999"}}};
  const auto message = [&](const char* key) -> std::string {
    try {
      c.size(key);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message("N"), "shape: N:0 must be at least 1");
  EXPECT_EQ(message("M"), "shape: M:-4 must be at least 1");
  EXPECT_EQ(message("K"), "shape: K:12x is not a whole number");
  EXPECT_EQ(message("B"), "shape: B:99999999999999999999 is too large");
  EXPECT_EQ(message("D"), "shape: missing 'D:<number>'");
}

TEST(Case, NamesEverythingThatChangesTheWork) {
  const Case c{.dtype = "bf16", .keys = {{"N", "64"}, {"temp", "cold"}}, .threads = 4};
  EXPECT_EQ(c.name(), "bf16/N:64/temp:cold/threads:4");
}

}  // namespace
}  // namespace kernels
