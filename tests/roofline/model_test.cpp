// The model against numbers worked by hand; those of 'How To Scale Your Model' with its inputs.
#include "roofline/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

constexpr double kV5ePeak = 1.97e14, kV5eBandwidth = 8.2e11;
constexpr ElementSizes kBf16{2, 2, 2}, kInt8{1, 1, 1}, kBf16Int8{2, 1, 2};

TEST(Ridge, Chips) {
  EXPECT_NEAR(ridge_intensity(kV5ePeak, kV5eBandwidth), 240.24, 0.005);  // book: 240
  EXPECT_NEAR(ridge_intensity(9.894e14, 3.352e12), 295.2, 0.05);
  EXPECT_NEAR(ridge_intensity(1e15, 3.35e12), 298.5, 0.05);  // book: 298
  EXPECT_NEAR(ridge_intensity(3.94e14, 8.1e11), 486.4, 0.05);
}

TEST(Ridge, AttainableTurnsThere) {
  EXPECT_DOUBLE_EQ(attainable_flops_per_s(2, 100, 10), 20);
  EXPECT_DOUBLE_EQ(attainable_flops_per_s(10, 100, 10), 100);
  EXPECT_DOUBLE_EQ(attainable_flops_per_s(50, 100, 10), 100);
}

TEST(Bounds, BooksTimes) {
  EXPECT_NEAR(bounds({.flops = 1e12, .peak_flops_per_s = 9.89e14}).t_math, 1.011e-3, 5e-7);
  EXPECT_NEAR(bounds({.flops = 1e12, .peak_flops_per_s = 9.1e14}).t_math, 1.099e-3, 5e-7);
}

TEST(Bounds, SeveralLevels) {
  // Compute 3 s, L2 4 s, DRAM 5 s, launch 1 s.
  const Work work{.flops = 300,
                  .peak_flops_per_s = 100,
                  .levels = {{"L2", 40, 10}, {"DRAM", 10, 2}},
                  .launch_s = 1};
  const Bounds b = bounds(work);
  EXPECT_DOUBLE_EQ(b.t_math, 3);
  EXPECT_DOUBLE_EQ(b.t_levels[0], 4);
  EXPECT_DOUBLE_EQ(b.t_levels[1], 5);
  EXPECT_DOUBLE_EQ(b.t_lower, 5);
  EXPECT_DOUBLE_EQ(b.t_upper, 13);
  EXPECT_EQ(b.bound, "DRAM");
}

TEST(Bounds, NamesWhatLimits) {
  Work work{.flops = 300, .peak_flops_per_s = 100, .levels = {{"DRAM", 2, 1}}};
  EXPECT_EQ(bounds(work).bound, "compute");
  work.launch_s = 3.5;
  EXPECT_EQ(bounds(work).bound, "launch");
  EXPECT_DOUBLE_EQ(bounds(work).t_lower, 3.5);
  work.launch_s = 0;
  work.levels[0].bytes = 3;  // at the ridge: not above it, so the level
  EXPECT_EQ(bounds(work).bound, "DRAM");
}

TEST(Bounds, UpperIsAtMostTwiceLowerWithOneLevel) {
  for (const double bytes : {0.0, 1.0, 3.0, 50.0}) {
    const Bounds b = bounds({.flops = 30, .peak_flops_per_s = 10, .levels = {{"HBM", bytes, 1}}});
    EXPECT_LE(b.t_upper, 2 * b.t_lower);
    EXPECT_GE(b.t_upper, b.t_lower);
  }
}

TEST(Bounds, RefusesNonsense) {
  EXPECT_THROW(bounds({.flops = -1, .peak_flops_per_s = 1}), BadInput);
  EXPECT_THROW(bounds({.flops = 1, .peak_flops_per_s = 0}), BadInput);
  EXPECT_THROW(bounds({.flops = std::nan(""), .peak_flops_per_s = 1}), BadInput);
  EXPECT_THROW(bounds({.levels = {{"DRAM", 1, 0}}}), BadInput);
  EXPECT_NO_THROW(bounds({.flops = 0, .peak_flops_per_s = 0, .levels = {{"DRAM", 1, 1}}}));
}

TEST(Place, ThreePlaces) {
  const auto inside = place(5, 4, 8);
  EXPECT_EQ(inside.place, Place::kExplained);
  EXPECT_DOUBLE_EQ(inside.overlap.value(), 0.75);
  EXPECT_DOUBLE_EQ(place(4, 4, 8).overlap.value(), 1);
  EXPECT_DOUBLE_EQ(place(8, 4, 8).overlap.value(), 0);
  EXPECT_EQ(place(3.9, 4, 8).place, Place::kImpossible);
  const auto lost = place(9, 4, 8);
  EXPECT_EQ(lost.place, Place::kLost);
  EXPECT_DOUBLE_EQ(lost.lost_s, 1);
  EXPECT_FALSE(lost.overlap.has_value());
}

TEST(Place, OnlyBeyondTheUncertainty) {
  EXPECT_EQ(place(3.9, 4, 8, 0.03).place, Place::kExplained);
  EXPECT_DOUBLE_EQ(place(3.9, 4, 8, 0.03).overlap.value(), 1);
  EXPECT_EQ(place(3.8, 4, 8, 0.03).place, Place::kImpossible);
  EXPECT_EQ(place(8.2, 4, 8, 0.03).place, Place::kExplained);
  EXPECT_EQ(place(8.3, 4, 8, 0.03).place, Place::kLost);
}

TEST(Place, EqualBoundsHaveNoOverlap) {
  EXPECT_FALSE(place(4, 4, 4).overlap.has_value());
  EXPECT_EQ(place(4, 4, 4).place, Place::kExplained);
}

TEST(Place, RefusesNonsense) {
  EXPECT_THROW(place(0, 4, 8), BadInput);
  EXPECT_THROW(place(-1, 4, 8), BadInput);
  EXPECT_THROW(place(std::nan(""), 4, 8), BadInput);
  EXPECT_THROW(place(1, 8, 4), BadInput);
  EXPECT_THROW(place(1, 0, 4), BadInput);
}

TEST(Cost, Dot) {
  EXPECT_DOUBLE_EQ(dot_cost(4, 2).flops, 7);
  EXPECT_DOUBLE_EQ(dot_cost(4, 2).bytes, 18);
  EXPECT_NEAR(dot_cost(1 << 20, 2).intensity(), 0.5, 1e-6);
  EXPECT_THROW(dot_cost(0, 2), BadInput);
}

TEST(Cost, Matmul) {
  // B = 2, D = 3, F = 5: X 6, Y 15, Z 10 elements.
  EXPECT_DOUBLE_EQ(matmul_cost(2, 3, 5, kBf16).flops, 60);
  EXPECT_DOUBLE_EQ(matmul_cost(2, 3, 5, kBf16).bytes, 62);
  EXPECT_DOUBLE_EQ(matmul_cost(2, 3, 5, kInt8).bytes, 31);
  EXPECT_DOUBLE_EQ(matmul_cost(2, 3, 5, kBf16Int8).bytes, 47);
  EXPECT_DOUBLE_EQ(matmul_cost(2, 3, 5, {1, 1, 4}).bytes, 61);
}

TEST(Cost, MatmulLimits) {
  constexpr std::int64_t kHuge = 1 << 24;
  EXPECT_NEAR(matmul_cost(8, kHuge, kHuge, kBf16).intensity(), 8, 1e-4);
  EXPECT_NEAR(matmul_cost(8, kHuge, kHuge, kInt8).intensity(), 16, 1e-4);
  EXPECT_NEAR(matmul_cost(8, kHuge, kHuge, kBf16Int8).intensity(), 16, 1e-4);
}

TEST(Cost, BatchedIntensityStaysAtTwo) {
  // 2 x 3 x 5: X 6, Y 30, Z 10.
  EXPECT_DOUBLE_EQ(batched_matmul_cost(2, 3, 5, kInt8).bytes, 46);
  EXPECT_DOUBLE_EQ(batched_matmul_cost(2, 3, 5, kInt8).flops, 60);
  EXPECT_NEAR(batched_matmul_cost(1, 4096, 4096, kInt8).intensity(), 2, 2e-3);
  EXPECT_NEAR(batched_matmul_cost(512, 4096, 4096, kInt8).intensity(), 2, 2e-3);
}

TEST(Cost, DecodeAttention) {
  const DecodeAttention shape{.batch = 2,
                              .context = 10,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 8,
                              .kv_bytes = 1,
                              .query_output_bytes = 2};
  EXPECT_DOUBLE_EQ(decode_attention_cost(shape).flops, 2560);
  EXPECT_DOUBLE_EQ(decode_attention_cost(shape).bytes, 640 + 256);
}

TEST(Cost, DecodeAttentionIntensityIsTheGroup) {
  for (const std::int64_t group : {1, 4, 8}) {
    const DecodeAttention shape{.context = 1 << 22,
                                .heads = 8 * group,
                                .kv_heads = 8,
                                .head_dim = 128,
                                .kv_bytes = 2,
                                .query_output_bytes = 2};
    EXPECT_NEAR(decode_attention_cost(shape).intensity(), static_cast<double>(group), 1e-4);
  }
  EXPECT_THROW(
      decode_attention_cost({.heads = 6, .kv_heads = 4, .kv_bytes = 2, .query_output_bytes = 2}),
      BadInput);
}

TEST(Tiles, Bytes) {
  // M = N = K = 4, tiles of 2: 4 output tiles, 2 steps each of (4 + 4) elements, and 4 out.
  EXPECT_DOUBLE_EQ(tiled_matmul_bytes(4, 4, 4, {2, 2, 2}, kInt8), 4 * (2 * 8 + 4));
  EXPECT_DOUBLE_EQ(tiled_matmul_bytes(4, 4, 4, {2, 2, 2}, kInt8, true), 4 * (2 * 8 + 8));
  // Mixed sizes weigh each operand by its own: 4 (2 (2 4 + 1 4) + 4 4).
  EXPECT_DOUBLE_EQ(tiled_matmul_bytes(4, 4, 4, {2, 2, 2}, {2, 1, 4}), 4 * (2 * 12 + 16));
}

TEST(Tiles, RaggedEdgesCountWhatIsLoaded) {
  // M = 5, N = 3, K = 7 in tiles 2 x 2: X (35) for 2 columns of tiles, Y (21) for 3 rows, Z 15.
  EXPECT_DOUBLE_EQ(tiled_matmul_bytes(5, 3, 7, {2, 2, 4}, kInt8), 70 + 63 + 15);
}

TEST(Tiles, IntensityLimit) {
  // bf16: bm bn / (bm + bn) once K is long.
  constexpr std::int64_t kDeep = 1 << 22;
  const double bytes = tiled_matmul_bytes(128, 256, kDeep, {128, 256, 64}, kBf16);
  EXPECT_NEAR(2.0 * 128 * 256 * kDeep / bytes, 128.0 * 256 / (128 + 256), 0.01);
}

TEST(CriticalBatch, Exact) {
  const auto at = [](std::int64_t size, const ElementSizes& e) {
    return critical_batch(size, size, e, kV5ePeak, kV5eBandwidth).value();
  };
  // ridge D / (D - 2 ridge) = 240.2439 * 4096 / 3615.512 = 272.17
  EXPECT_NEAR(at(4096, kBf16), 272.17, 0.01);
  EXPECT_NEAR(at(4096, kBf16Int8), 136.1, 0.05);
  EXPECT_NEAR(at(1024, kBf16Int8), 226.3, 0.05);
}

TEST(CriticalBatch, BoundTurnsThere) {
  const auto bound = [](std::int64_t batch, std::int64_t size) {
    const Cost cost = matmul_cost(batch, size, size, kBf16Int8);
    return bounds({.flops = cost.flops,
                   .peak_flops_per_s = kV5ePeak,
                   .levels = {{"HBM", cost.bytes, kV5eBandwidth}}})
        .bound;
  };
  EXPECT_EQ(bound(136, 4096), "HBM");
  EXPECT_EQ(bound(137, 4096), "compute");
  EXPECT_EQ(bound(226, 1024), "HBM");
  EXPECT_EQ(bound(227, 1024), "compute");
}

TEST(CriticalBatch, RuleOfThumb) {
  EXPECT_NEAR(critical_batch_rule_of_thumb(2, kV5ePeak, kV5eBandwidth), 240.24, 0.005);
  EXPECT_NEAR(critical_batch_rule_of_thumb(1, kV5ePeak, kV5eBandwidth), 120.12, 0.005);
  EXPECT_NEAR(critical_batch_rule_of_thumb(1, 3.94e14, 8.1e11), 243.2, 0.05);
}

TEST(CriticalBatch, NoneWhereActivationsAloneAreTooMuch) {
  // D = F = 256: 2 x 240 x (D + F) / F > 2 D, so no batch is large enough.
  EXPECT_FALSE(critical_batch(256, 256, kBf16, kV5ePeak, kV5eBandwidth).has_value());
}

}  // namespace
}  // namespace roofline
