// The probes of arithmetic and latency refuse a kernel that does less than it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "kernels/chase/chase.hpp"
#include "kernels/cost.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/fma_peak/fma_peak.hpp"
#include "kernels/pages/pages.hpp"
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

/// The bits of the floats of all pages but the last kMissing.
template <int kMissing>
std::uint32_t read_pages(const float* const* pages, std::int64_t count, std::int64_t floats) {
  std::uint32_t bits = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t at = 0; at < floats - (i == count - 1 ? kMissing : 0); ++at)
      bits ^= std::bit_cast<std::uint32_t>(pages[i][at]);
  return bits;
}

Case case_of_pages(const char* page_bytes, const char* size) {
  return {.dtype = "f32", .keys = {{"page_bytes", page_bytes}, {"size", size}}, .threads = 2};
}

TEST(PagesVerify, RefusesOneFloatLess) {
  const pages::Kernel right = {.exec_unit = "scalar", .read = read_pages<0>},
                      wrong = {.exec_unit = "scalar", .read = read_pages<1>};
  for (const char* size : {"16384", "9437184"}) {
    const Case c = case_of_pages("4096", size);
    EXPECT_EQ(verdict({"pages", "right", Need::none, Threads::any, "", &right}, c), "") << size;
    EXPECT_NE(verdict({"pages", "wrong", Need::none, Threads::any, "", &wrong}, c), "") << size;
  }
}

TEST(Pages, RunOverAllOfThemBeforeOneComesAgain) {
  static std::vector<const float*> seen;  // by one thread
  seen.clear();
  const pages::Kernel kernel = {
      .exec_unit = "scalar",
      .read = [](const float* const* pages, std::int64_t count, std::int64_t) {
        seen.insert(seen.end(), pages, pages + count);
        return std::uint32_t{0};
      }};
  const KernelInfo info = {"pages", "of a test", Need::none, Threads::any, "", &kernel};
  Case c = case_of_pages("2048", "12582912");
  c.threads = 1;
  const auto problem = operation_of(info).bind(info, c, kCaches);
  EXPECT_EQ(problem->cost().bytes, 4 << 20);
  EXPECT_EQ(problem->working_set_bytes(), 12 << 20);
  EXPECT_EQ(problem->traffic().dram, (4 << 20));
  problem->run(0, 1);
  problem->run(1, 2);
  ASSERT_EQ(seen.size(), 6144u);
  std::size_t in_order = 0;
  for (std::size_t i = 1; i < seen.size(); ++i) in_order += seen[i] == seen[i - 1] + 512;
  EXPECT_LT(in_order, 20u) << "of 6143 pages that should lie anywhere";
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

/// A list exactly as long as it must be, so that AddressSanitizer sees reads beyond it, of pages
/// that are shorter than lines are asked for ahead, as long and longer.
TEST(PagesRead, GivesTheBitsOfAllPages) {
  for (const KernelInfo& info : all_kernels()) {
    if (info.op != "pages" || info.gpu() || !missing(info.needs).empty()) continue;
    for (const std::int64_t bytes : {1024, 4096, 16384}) {
      const std::int64_t count = 2 * pages::kSideBySide,
                         floats = bytes / static_cast<std::int64_t>(sizeof(float));
      std::vector<float> memory(count * floats);
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i * i + 1);
      std::vector<const float*> list;
      for (std::int64_t i = 0; i < count + pages::kBehind; ++i)
        list.push_back(memory.data() + (count - 1 - i % count) * floats);
      EXPECT_EQ(static_cast<const pages::Kernel*>(info.table)->read(list.data(), count, floats),
                read_pages<0>(list.data(), count, floats))
          << info.variant << " " << bytes;
    }
  }
}

TEST(PagesCases, LieInMainMemoryOnAnyNumberOfCores) {
  constexpr std::int64_t kMb = 1 << 20;
  const Operation& operation = operation_of(
      *std::find_if(all_kernels().begin(), all_kernels().end(),
                    [](const KernelInfo& info) { return info.op == "pages" && !info.gpu(); }));
  for (const auto& [l3, cores] :
       {std::pair{32 * kMb, 1}, {64 * kMb, 3}, {128 * kMb, 24}, {0 * kMb, 7}}) {
    const Caches caches = {.l1d = 32 << 10, .l2 = l3 / 64, .l3 = l3, .cores = cores};
    std::size_t quick = 0;
    const auto all = operation.cases(caches);
    for (const Case& c : all) {
      EXPECT_GE(c.size("size") * c.threads, cold_footprint(caches)) << c.name() << " on " << cores;
      EXPECT_EQ(c.size("size") % (pages::kSideBySide * c.size("page_bytes")), 0) << c.name();
      quick += c.quick;
    }
    EXPECT_EQ(all.size(), 3 * quick);
    EXPECT_EQ(quick, cores > 1 ? 2u : 1u);
  }
}

TEST(Pages, RefusesWhatIsNone) {
  const pages::Kernel kernel = {.exec_unit = "scalar", .read = read_pages<0>};
  const KernelInfo info = {"pages", "of a test", Need::none, Threads::any, "", &kernel};
  const auto complaint = [&](const char* page_bytes, const char* size) -> std::string {
    try {
      operation_of(info).bind(info, case_of_pages(page_bytes, size), kCaches);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(complaint("3072", "1048576"),
            "shape: page_bytes:3072 must be a power of two of at least 1024");
  EXPECT_EQ(complaint("512", "1048576"),
            "shape: page_bytes:512 must be a power of two of at least 1024");
  EXPECT_EQ(complaint("4096", "16383"), "shape: size:16383 must be at least 4 pages of 4096");
  EXPECT_EQ(complaint("4096", "1099511627776").substr(0, 13), "shape: needs ");
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
