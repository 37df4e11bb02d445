// matmul: cost and traffic against hand-worked literals, and proof that the oracle catches wrong
// kernels. Every real variant runs every test case in registry_test.cpp.
#include "kernels/matmul/matmul.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/buffer.hpp"
#include "kernels/registry.hpp"

namespace kernels::matmul {

extern const Operation operation;
extern const Kernel blocked;

namespace {

const Caches kCaches{
    .l1d = 32 << 10, .l2 = 512 << 10, .l3 = 32 << 20, .memory = 2ll << 30, .cores = 4};

Case make(const char* dtype, const char* m, const char* n, const char* k) {
  return {.dtype = dtype, .keys = {{"M", m}, {"N", n}, {"K", k}}};
}

/// What verify() says of a kernel that does nothing but `run`.
std::string verdict(const Kernel& kernel, const Case& c) {
  const KernelInfo info{"matmul", "wrong", Need::none, Threads::any, "", &kernel};
  return operation.bind(info, c, kCaches)->verify();
}

TEST(MatmulCost, HandWorked) {
  // bf16 to fp32, 2 x 3 x 4: 48 FLOP; 2*8 + 2*12 + 4*6 = 64 bytes.
  constexpr Cost bf16_cost = cost({.m = 2, .n = 3, .k = 4}, {2, 2, 4});
  static_assert(bf16_cost.flops == 48 && bf16_cost.bytes == 64);
  // bf16 x int8 with a 4-byte scale a column: 2*8 + 12 + 4*6 + 4*3 = 64 bytes.
  static_assert(cost({.m = 2, .n = 3, .k = 4}, {2, 1, 4, 4}).bytes == 64);
  // One matrix a batch element, int8[B,D] . int8[B,D,F] -> int32[B,F], B = 8, D = F = 4096:
  // 268435456 OP, 8 * (4096 + 16777216 + 4 * 4096) = 134381568 bytes: intensity stays at 2.
  constexpr Cost batched = cost({.m = 1, .n = 4096, .k = 4096, .batch = 8}, {1, 1, 4});
  static_assert(batched.flops == 268435456.0 && batched.bytes == 134381568.0);
}

TEST(MatmulTraffic, FollowsTheTilesOfEachLevel) {
  // Z 12 x 32, K 10; fp32, both operands packed. Packing: (4+4)*120 + (4+4)*320 = 3520.
  constexpr Tiles tiles{
      .l1 = {6, 16, 5}, .l2 = {12, 16, 5}, .l3 = {12, 32, 10}, .x_packed = 4, .y_packed = 4};
  constexpr LevelBytes t = tile_traffic({.m = 12, .n = 32, .k = 10}, {4, 4, 4}, tiles);
  // l1: X twice 960, Y twice 2560, Z stored, then loaded and stored: 3 * 1536 = 4608.
  static_assert(t.l1 == 960 + 2560 + 4608 + 3520);
  // l2: X twice, Y once 1280, Z as in l1. l3: X once 480, Y once, Z once.
  static_assert(t.l2 == 960 + 1280 + 4608 + 3520);
  static_assert(t.l3 == 480 + 1280 + 1536 + 3520);
  static_assert(t.dram == 480 + 1280 + 1536);
  // Weights packed beforehand: their packing (8 * 320) is not in the call.
  constexpr Tiles pre{.l1 = {6, 16, 5}, .x_packed = 4, .y_packed = 4, .y_prepacked = true};
  EXPECT_EQ(tile_traffic({.m = 12, .n = 32, .k = 10}, {4, 4, 4}, pre).l1, t.l1 - 2560);
  // Three parts that each pack all of X and two that each pack all of Y: (4+4)*120 twice more and
  // (4+4)*320 once. As nothing packed leaves L2, what crosses its edge is X and Y by their tiles.
  constexpr Tiles own{.l1 = {6, 16, 5},
                      .l2 = {6, 16, 5},
                      .l3 = {6, 16, 10},
                      .x_packed = 4,
                      .y_packed = 4,
                      .x_packs = 3,
                      .y_packs = 2,
                      .x_stays = true,
                      .y_stays = true};
  constexpr LevelBytes parts = tile_traffic({.m = 12, .n = 32, .k = 10}, {2, 1, 4}, own);
  static_assert(parts.l1 == 960 + 2560 + 4608 + (2 + 4) * 120 * 3 + (1 + 4) * 320 * 2);
  static_assert(parts.l3 == 2 * 120 * 2 + 320 * 2 + 1536);
  // If the panels of Y leave L2, their packing and they themselves cross it.
  Tiles y_leaves = own;
  y_leaves.y_stays = false;
  EXPECT_EQ(tile_traffic({.m = 12, .n = 32, .k = 10}, {2, 1, 4}, y_leaves).l3,
            2 * 120 * 2 + 4 * 320 * 2 + 1536 + (1 + 4) * 320 * 2);
  // Panels of Y that were made before the call cross it as they are.
  Tiles held = own;
  held.y_prepacked = true;
  EXPECT_EQ(tile_traffic({.m = 12, .n = 32, .k = 10}, {2, 1, 4}, held).l3,
            parts.l3 + (4 - 1) * 320 * 2);
  // Panels of Y that are used up while L1 has them: across L2's edge Y comes once a row of tiles,
  // as it lies. Sums that are moved to Z at the end are read and written once more, within L2.
  Tiles in_turns = own;
  in_turns.y_in_l1 = in_turns.z_moved = true;
  const LevelBytes turns = tile_traffic({.m = 12, .n = 32, .k = 10}, {2, 1, 4}, in_turns);
  EXPECT_EQ(turns.l1, parts.l1 + 2 * 1536);
  EXPECT_EQ(turns.l2, 960 + 320 * 2 + 4608 + (2 + 4) * 120 * 3 + 2 * 1536);
  EXPECT_EQ(turns.l3, parts.l3);
  // A ragged edge loads a whole further tile's worth of the other operand.
  EXPECT_EQ(tile_traffic({.m = 13, .n = 32, .k = 10}, {4, 4, 4}, {.l1 = {6, 16, 10}}).l1,
            4 * 130 * 2 + 4 * 320 * 3 + 4 * 416);
  EXPECT_TRUE(std::isnan(tile_traffic({.m = 1, .n = 1, .k = 1}, {4, 4, 4}, {}).l2));
}

TEST(Reading, FollowsFromL1AndTheMaker) {
  constexpr std::int64_t kSmall = 32 << 10, kLarger = 48 << 10;
  static_assert(reading_of({}) == Reading::into_l2);
  static_assert(reading_of({.l1d = kSmall, .maker = Maker::amd}) == Reading::into_l2);
  static_assert(reading_of({.l1d = kLarger}) == Reading::streams);
  static_assert(reading_of({.l1d = kLarger, .maker = Maker::amd}) == Reading::in_order);
}

TEST(MatmulTraffic, NothingBehindTheLevelThatHoldsTheSet) {
  const KernelInfo info{"matmul", "blocked", Need::none, Threads::any, "", &blocked};
  // 3 * 64 * 64 * 4 = 48 KiB: beyond L1, within L2.
  const LevelBytes t = operation.bind(info, make("f32", "64", "64", "64"), kCaches)->traffic();
  EXPECT_GT(t.l1, 0);
  EXPECT_GT(t.l2, 0);
  EXPECT_TRUE(std::isnan(t.l3));
  EXPECT_TRUE(std::isnan(t.dram));
  Case cold = make("f32", "1", "1024", "1024");
  cold.keys.emplace_back("temp", "cold");
  const auto problem = operation.bind(info, cold, kCaches);
  EXPECT_EQ(problem->traffic().dram, 4.0 * 1024 * 1024);
  EXPECT_GE(problem->working_set_bytes(), 4.0 * kCaches.l3);
}

TEST(MatmulTraffic, ColdWeightsComeFromMemoryAndTheRestWhereACallHasLeftIt) {
  const KernelInfo info{"matmul", "blocked", Need::none, Threads::any, "", &blocked};
  Caches caches = kCaches;
  caches.l3 = 8 << 20;
  const auto dram = [&](const char* m) {
    Case cold = make("f32", m, "1024", "1024");
    cold.keys.emplace_back("temp", "cold");
    return operation.bind(info, cold, caches)->traffic().dram;
  };
  const double y = 4.0 * 1024 * 1024;
  EXPECT_EQ(dram("1"), y);
  EXPECT_EQ(dram("1024"), 3 * y);  // 12 MB, more than L3 and L2 hold
}

template <class Fault>
void right_but_for(const Plan& plan, const float* x, const float* y, float* z, Fault fault) {
  blocked.f32.run(plan, x, y, nullptr, z);
  fault(plan.shape, x, y, z);
}

std::int64_t g_row, g_column, g_step;

void drops_a_product(const Plan& plan, const float* x, const float* y, const float*, float* z) {
  right_but_for(plan, x, y, z, [](const Shape& s, const float* a, const float* b, float* c) {
    c[g_row * s.n + g_column] -= a[g_row * s.k + g_step] * b[g_step * s.n + g_column];
  });
}

TEST(MatmulOracle, CatchesOneDroppedProductAnywhere) {
  const Kernel wrong{.exec_unit = "scalar", .f32 = {.run = drops_a_product}};
  Case integers = make("f32", "37", "41", "29");
  integers.keys.emplace_back("data", "integers");
  for (int i = 0; i < 20; ++i) {
    g_row = i * 17 % 37, g_column = i * 29 % 41, g_step = i * 11 % 29;
    EXPECT_NE(verdict(wrong, integers), "");
    EXPECT_NE(verdict(wrong, make("f32", "37", "41", "29")), "");
  }
  // Beyond 512^3: Freivalds' check, in the middle and in the last entry.
  for (const auto& [row, column] : {std::pair{100, 333}, std::pair{299, 699}}) {
    g_row = row, g_column = column, g_step = 777;
    EXPECT_NE(verdict(wrong, make("f32", "300", "700", "1100")), "");
  }
}

void leaves_the_last_column(const Plan& plan, const float* x, const float* y, const float*,
                            float* z) {
  float* copy = new float[plan.shape.m * plan.shape.n];
  blocked.f32.run(plan, x, y, nullptr, copy);
  for (std::int64_t i = 0; i < plan.shape.m * plan.shape.n; ++i)
    if (i % plan.shape.n != plan.shape.n - 1) z[i] = copy[i];
  delete[] copy;
}

void transposes_y(const Plan& plan, const float* x, const float* y, const float*, float* z) {
  const Shape& s = plan.shape;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k) sum += x[i * s.k + k] * y[j * s.k + k];
      z[i * s.n + j] = sum;
    }
}

void writes_past_the_end(const Plan& plan, const float* x, const float* y, const float*, float* z) {
  blocked.f32.run(plan, x, y, nullptr, z);
  z[plan.shape.m * plan.shape.n] = 0;
}

void forgets_the_scales(const Plan& plan, const bf16* x, const std::int8_t* y, const float*,
                        float* z) {
  blocked.bf16_s8.run(plan, x, y, nullptr, z);
}

void swaps_two_rows(const Plan& plan, const float* x, const float* y, const float*, float* z) {
  right_but_for(plan, x, y, z, [](const Shape& s, const float*, const float*, float* c) {
    for (std::int64_t j = 0; j < s.n; ++j) std::swap(c[7 * s.n + j], c[8 * s.n + j]);
  });
}

TEST(MatmulOracle, CatchesWrongEdgesAndOperands) {
  const Kernel edge{.exec_unit = "scalar", .f32 = {.run = leaves_the_last_column}};
  EXPECT_NE(verdict(edge, make("f32", "5", "17", "9")).find("Z[0,16] is"), std::string::npos);
  EXPECT_NE(verdict(edge, make("f32", "300", "700", "1100")), "");
  const Kernel transposed{.exec_unit = "scalar", .f32 = {.run = transposes_y}};
  EXPECT_NE(verdict(transposed, make("f32", "16", "16", "16")), "");
  const Kernel past{.exec_unit = "scalar", .f32 = {.run = writes_past_the_end}};
  EXPECT_NE(verdict(past, make("f32", "5", "17", "9")).find("past the end"), std::string::npos);
  const Kernel unscaled{.exec_unit = "scalar", .bf16_s8 = {.run = forgets_the_scales}};
  EXPECT_NE(verdict(unscaled, make("bf16xs8", "5", "17", "9")), "");
  const Kernel swapped{.exec_unit = "scalar", .f32 = {.run = swaps_two_rows}};
  EXPECT_NE(verdict(swapped, make("f32", "300", "700", "1100")), "");
  EXPECT_EQ(verdict(blocked, make("f32", "300", "700", "1100")), "");
}

void drops_an_int8_product(const Plan& plan, const std::int8_t* x, const std::int8_t* y,
                           const float*, std::int32_t* z) {
  blocked.s8_s32.run(plan, x, y, nullptr, z);
  z[5 * plan.shape.n + 5] -= x[5 * plan.shape.k] * y[5];
}

TEST(MatmulOracle, IsExactForInt8BeyondTheFullCheck) {
  const Kernel wrong{.exec_unit = "scalar", .s8_s32 = {.run = drops_an_int8_product}};
  EXPECT_NE(verdict(wrong, make("s8", "300", "700", "1100")), "");
  EXPECT_EQ(verdict(blocked, make("s8", "300", "700", "1100")), "");
}

/// What is often taken for an int8 product: unsigned bytes times signed ones added in pairs into 16
/// bits (vpmaddubsw), |x| times y with the sign of x (vpsignb).
void adds_pairs_in_16_bits(const Plan& plan, const std::int8_t* x, const std::int8_t* y,
                           const float*, std::int32_t* z) {
  const Shape& s = plan.shape;
  const auto product = [](int a, int b) {
    return std::abs(a) * static_cast<std::int8_t>(a < 0 ? -b : a > 0 ? b : 0);
  };
  std::fill_n(z, s.m * s.n, 0);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t k = 0; k < s.k; k += 2) {
      const bool pair = k + 1 < s.k;
      const int a = x[i * s.k + k], next = pair ? x[i * s.k + k + 1] : 0;
      const std::int8_t *row = y + k * s.n, *next_row = pair ? row + s.n : row;
      for (std::int64_t j = 0; j < s.n; ++j)
        z[i * s.n + j] +=
            std::clamp(product(a, row[j]) + product(next, next_row[j]), -32768, 32767);
    }
}

TEST(MatmulOracle, CatchesBytesThatHaveNoNegative) {
  const Kernel wrong{.exec_unit = "scalar", .s8_s32 = {.run = adds_pairs_in_16_bits}};
  const KernelInfo info{"matmul", "wrong", Need::none, Threads::any, "", &wrong};
  int cases = 0;
  for (const Case& c : operation.test_cases()) {
    const bool few = c.size("M") * c.size("N") * c.size("K") < 1000;  // may have no such bytes
    if (c.dtype != "s8" || few || !operation.supports(info, c)) continue;
    ++cases;
    EXPECT_NE(verdict(wrong, c), "") << c.name();
  }
  EXPECT_GT(cases, 50);
}

/// Calls `check(z)` for every way that a variant does x . y.
template <class X, class Z, class Check>
void each_product(const Routine<X, std::int8_t, Z>& routine, Plan plan, const std::vector<X>& x,
                  const std::vector<std::int8_t>& y, const std::vector<float>& scales,
                  Check check) {
  const auto none = [](std::int64_t) { return std::byte{0}; };
  const std::int64_t needs = routine.workspace_bytes ? routine.workspace_bytes(plan) : 0;
  Buffer<std::byte> workspace(needs + 4096, 1, none);
  plan.workspace = workspace.data();
  const float* const columns = scales.empty() ? nullptr : scales.data();
  std::vector<Z> z(plan.shape.m * plan.shape.n);
  if (routine.run != nullptr) {
    routine.run(plan, x.data(), y.data(), columns, z.data());
    check(z);
  }
  if (routine.run_packed == nullptr) return;
  std::fill(z.begin(), z.end(), Z{});
  Buffer<std::byte> packed(routine.packed_bytes(plan), 1, none);
  routine.pack(plan, y.data(), columns, packed.data());
  routine.run_packed(plan, x.data(), packed.data(), columns, z.data());
  check(z);
}

std::vector<const KernelInfo*> own_kernels() {
  std::vector<const KernelInfo*> list;
  for (const auto& kernel : all_kernels())
    if (kernel.op == "matmul" && !kernel.gpu() && !kernel.library() &&
        missing(kernel.needs).empty())
      list.push_back(&kernel);
  return list;
}

bool offered(const KernelInfo& info, const char* dtype, const Shape& s) {
  Case c = make(dtype, std::to_string(s.m).c_str(), std::to_string(s.n).c_str(),
                std::to_string(s.k).c_str());
  if (operation.supports(info, c)) return true;
  c.keys.emplace_back("pack", "pre");
  return operation.supports(info, c);
}

/// All of x and all of y the same.
template <class X>
void expect_exact(const Routine<X, std::int8_t, std::int32_t> Kernel::*routine, const char* dtype,
                  const Shape& shape, X x_value, std::int8_t y_value) {
  const std::vector<X> x(shape.m * shape.k, x_value);
  const std::vector<std::int8_t> y(shape.k * shape.n, y_value);
  const auto expected = static_cast<std::int32_t>(shape.k * x_value * y_value);
  for (const auto* info : own_kernels()) {
    if (!offered(*info, dtype, shape)) continue;
    for (const int threads : {1, 3})
      each_product(static_cast<const Kernel*>(info->table)->*routine,
                   {.shape = shape, .threads = threads, .caches = kCaches}, x, y, {},
                   [&](const std::vector<std::int32_t>& z) {
                     for (const std::int32_t sum : z)
                       ASSERT_EQ(sum, expected)
                           << info->variant << " " << dtype << " K " << shape.k << " of "
                           << int{x_value} << " and " << int{y_value};
                   });
  }
}

TEST(MatmulInt8, IsExactAtTheEndsOfItsRange) {
  for (const auto& [x, y] : {std::pair{-128, -128}, {127, -128}, {-128, 127}, {127, 127}})
    for (const Shape& s : {Shape{17, 33, 1001}, {3, 32, kMaxKS8}})
      expect_exact<std::int8_t>(&Kernel::s8_s32, "s8", s, static_cast<std::int8_t>(x),
                                static_cast<std::int8_t>(y));
  for (const int y : {-128, 127})
    for (const Shape& s : {Shape{17, 33, 1001}, {3, 32, kMaxKU8}})
      expect_exact<std::uint8_t>(&Kernel::u8_s8, "u8xs8", s, 255, static_cast<std::int8_t>(y));
}

TEST(MatmulInt8, OfSplitActivationsIsNotOfferedWhereItsSumsOverflow) {
  // 1.015625: 65 units of 1/64, of which a split into bytes has the most in each.
  constexpr float kX = 1.015625f;
  for (const std::int64_t k : {kMaxKS8, kMaxKS8 + 1}) {
    const Shape s{1, 32, k};
    const std::vector<bf16> x(k, bf16(kX));
    const std::vector<std::int8_t> y(k * s.n, -128);
    for (const auto* info : own_kernels()) {
      if (!offered(*info, "bf16xs8", s)) continue;
      const double expected = -128.0 * kX * static_cast<double>(k);
      each_product(static_cast<const Kernel*>(info->table)->bf16_s8,
                   {.shape = s, .threads = 1, .caches = kCaches}, x, y,
                   std::vector<float>(s.n, 1.0f), [&](const std::vector<float>& z) {
                     for (const float sum : z)
                       ASSERT_NEAR(sum, expected, 1e-3 * -expected) << info->variant << " " << k;
                   });
    }
  }
  for (const auto& info : all_kernels()) {  // on machines without AMX, too
    if (info.op != "matmul") continue;
    if (info.variant == "amx_split" || info.variant == "avx512_vnni_split_skinny") {
      EXPECT_FALSE(offered(info, "bf16xs8", {1, 32, kMaxKS8 + 1})) << info.variant;
    }
  }
}

std::string complaint(const Case& c) {
  try {
    verdict(blocked, c);
  } catch (const BadInput& e) {
    return e.what();
  }
  return "";
}

TEST(MatmulInput, IsRefusedInOneLine) {
  EXPECT_EQ(complaint(make("f32", "0", "1", "1")), "shape: M:0 must be at least 1");
  EXPECT_EQ(complaint(make("s8", "1", "1", "131072")),
            "shape: K:131072 could overflow the 32-bit sums of s8 (at most 131071)");
  EXPECT_EQ(complaint(make("u8xs8", "1", "1", "65794")),
            "shape: K:65794 could overflow the 32-bit sums of u8xs8 (at most 65793)");
  EXPECT_EQ(complaint(make("f32", "1048576", "1048576", "1")),
            "shape: needs 4398054 MB, this process may use 1717 MB");
  Case c = make("f32", "1", "1", "1");
  c.keys.emplace_back("temp", "tepid");
  EXPECT_EQ(complaint(c), "shape: temp:tepid is not known to matmul");
  c.keys.back() = {"layout", "paged"};
  EXPECT_EQ(complaint(c),
            "shape: matmul has no key 'layout' (M, N, K, batch, pack:pre, temp:warm, temp:cold)");
  EXPECT_EQ(complaint(make("f8", "1", "1", "1")),
            "matmul: dtype 'f8' (known: f64, f32, bf16, s8, u8xs8, bf16xs8)");
}

TEST(MatmulOffer, EndsAtTheLargestShapeOfAKernel) {
  const Kernel few{
      .exec_unit = "scalar", .f32 = blocked.f32, .max_m = 4, .max_k = 100, .max_y = 100000};
  KernelInfo info{};
  info.table = &few;
  EXPECT_TRUE(operation.supports(info, make("f32", "4", "1000", "100")));
  EXPECT_FALSE(operation.supports(info, make("f32", "5", "1000", "100")));
  EXPECT_FALSE(operation.supports(info, make("f32", "4", "990", "101")));
  EXPECT_FALSE(operation.supports(info, make("f32", "4", "1001", "100")));
}

}  // namespace
}  // namespace kernels::matmul
