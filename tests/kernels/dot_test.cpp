#include "kernels/dot/dot.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/cost.hpp"
#include "kernels/registry.hpp"

namespace kernels::dot {
namespace {

const Caches kCaches = {
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 4 << 20, .memory = std::int64_t{4} << 30, .cores = 2};

std::vector<const KernelInfo*> dot_kernels() {
  std::vector<const KernelInfo*> list;
  for (const auto& kernel : all_kernels())
    if (kernel.op == "dot" && !kernel.gpu() && missing(kernel.needs).empty())
      list.push_back(&kernel);
  return list;
}

TEST(DotCost, IsHandWorked) {
  EXPECT_EQ(cost(1, 4).flops, 1);
  EXPECT_EQ(cost(1000, 2).flops, 1999);
  EXPECT_EQ(cost(1000, 2).bytes, 4002);
  EXPECT_NEAR(cost(1000, 2).flops / cost(1000, 2).bytes, 0.4995, 1e-4);
}

TEST(DotTraffic, EndsAtTheLevelThatHoldsTheSet) {
  // 2 x 3000 x 4 B = 24 kB: fits L1; 2 x 40000 x 4 = 320 kB: L2; 2.4 MB: L3; 16 MB: none.
  const auto levels = [](double set) {
    const LevelBytes t = streaming_traffic(set, set, set, kCaches);
    return 1 + (t.l2 == t.l2) + (t.l3 == t.l3) + (t.dram == t.dram);
  };
  EXPECT_EQ(levels(24e3), 1);
  EXPECT_EQ(levels(320e3), 2);
  EXPECT_EQ(levels(2.4e6), 3);
  EXPECT_EQ(levels(16e6), 4);
  // What L3 does not hold the core's L2 may: 4 MiB + 512 KiB.
  EXPECT_EQ(levels(4.5 * (1 << 20)), 3);
  EXPECT_EQ(levels(4.5 * (1 << 20) + 1), 4);
  // Four cores: 6 MiB.
  EXPECT_TRUE(std::isnan(streaming_traffic(1, 1.5 * (1 << 20), 6 << 20, kCaches).dram));
  EXPECT_NEAR(streaming_traffic(1, 1.5 * (1 << 20) + 1, (6 << 20) + 4, kCaches).dram,
              4.0 / ((6 << 20) + 4), 1e-15);
}

TEST(DotTraffic, IsTheRestAtLeastOfASetThatNearlyFits) {
  // One core: L1 of 32 KiB, L2 of 512 KiB, L3 and L2 of 4.5 MiB.
  const auto of = [](double kib) {
    return streaming_traffic(1000, kib * 1024, kib * 1024, kCaches);
  };
  EXPECT_DOUBLE_EQ(of(40).l2, 200);   // 8 of 40
  EXPECT_DOUBLE_EQ(of(64).l2, 1000);  // twice: all
  EXPECT_DOUBLE_EQ(of(640).l3, 200);  // 128 of 640
  EXPECT_DOUBLE_EQ(of(1024).l3, 1000);
  EXPECT_DOUBLE_EQ(of(6144).dram, 250);  // 1536 of 6144
  EXPECT_DOUBLE_EQ(of(9216).dram, 1000);
  EXPECT_DOUBLE_EQ(of(9216).l1, 1000);
}

TEST(DotS8, IsExactWhereThirtyTwoBitsWouldOverflow) {
  const std::int64_t n = 3'000'001;
  const std::vector<std::int8_t> low(n, -128), high(n, 127);
  for (const auto* info : dot_kernels()) {
    const auto& kernel = *static_cast<const Kernel*>(info->table);
    if (kernel.s8 == nullptr) continue;
    EXPECT_EQ(kernel.s8(high.data(), high.data(), n), 127 * 127 * n) << info->variant;
    EXPECT_EQ(kernel.s8(low.data(), low.data(), n), 128 * 128 * n) << info->variant;
    EXPECT_EQ(kernel.s8(low.data(), high.data(), n), -128 * 127 * n) << info->variant;
  }
}

TEST(DotReals, StaysWithinTheErrorOfItsLength) {
  const std::int64_t n = 1001;
  std::vector<float> x(n), y(n);
  double exact = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = random_value<float>(1, i);
    y[i] = random_value<float>(2, i);
    exact += double{x[i]} * y[i];
  }
  for (const auto* info : dot_kernels()) {
    const auto& kernel = *static_cast<const Kernel*>(info->table);
    if (kernel.f32 == nullptr) continue;
    EXPECT_NEAR(kernel.f32(x.data(), y.data(), n), exact, n * 0x1p-24) << info->variant;
  }
}

float skips_the_last(const float* x, const float* y, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i + 1 < n; ++i) sum += x[i] * y[i];
  return sum;
}

TEST(DotVerify, CatchesAMissingElement) {
  const Kernel wrong = {.exec_unit = "scalar", .f32 = skips_the_last};
  const KernelInfo info = {"dot", "wrong", Need::none, Threads::any, "", &wrong};
  const Case c{.dtype = "f32", .keys = {{"N", "1000"}}, .threads = 1};
  EXPECT_NE(operation_of(info).bind(info, c, kCaches)->verify(), "");
}

std::mutex pieces_lock;
std::map<const float*, std::int64_t> pieces;  ///< by where they begin in x: elements
float record(const float* x, const float* y, std::int64_t n) {
  const std::lock_guard lock(pieces_lock);
  EXPECT_TRUE(pieces.emplace(x, n).second) << "taken twice";
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

TEST(DotCold, EveryPieceOfEveryCallIsTakenOnce) {
  const Kernel kernel = {.exec_unit = "scalar", .f32 = record};
  const KernelInfo info = {"dot", "of a test", Need::none, Threads::any, "", &kernel};
  constexpr std::int64_t kN = 500001;
  for (const char* region : {"call", "shared"}) {
    const Case c{.dtype = "f32",
                 .keys = {{"N", std::to_string(kN)}, {"temp", "cold"}, {"region", region}},
                 .threads = 3};
    const auto problem = operation_of(info).bind(info, c, kCaches);
    pieces.clear();
    EXPECT_EQ(problem->verify(), "") << region;
    pieces.clear();
    problem->run(0, 3);
    std::int64_t elements = 0;
    const float* end = nullptr;
    for (const auto& [begin, count] : pieces) {
      EXPECT_GE(begin, end) << "pieces overlap";
      end = begin + count;
      elements += count;
    }
    EXPECT_EQ(elements, 3 * kN) << region;
    EXPECT_GT(pieces.size(), 9u) << "several a thread and call";
  }
}

TEST(DotBind, RefusesWhatDoesNotFit) {
  const KernelInfo& info = *dot_kernels().front();
  const Case c{.dtype = "f64", .keys = {{"N", "1000000000"}}, .threads = 1};
  EXPECT_THROW(operation_of(info).bind(info, c, kCaches), BadInput);
}

}  // namespace
}  // namespace kernels::dot
