// Operations on one chip and over several, with the numbers of 'How To Scale Your Model'.
#include "roofline/predict/operation.hpp"

#include <gtest/gtest.h>

#include "roofline/base/error.hpp"
#include "roofline/predict/sharded.hpp"

namespace roofline::predict {
namespace {

constexpr ElementSizes kBf16{2, 2, 2}, kInt8{1, 1, 1}, kBf16Int8{2, 1, 2};

Roofs with(double peak, double bandwidth) { return {.peak = peak, .bandwidth = bandwidth}; }
const Roofs kV5e = with(1.97e14, 8.2e11);

double critical(std::int64_t size, const ElementSizes& element, const Roofs& roofs) {
  return predict(Matmul{.b = 1, .d = size, .f = size, .element = element}, roofs)
      .critical_batch.value();
}

TEST(PredictMatmul, Ridges) {
  const auto ridge = [](const Roofs& roofs) {
    return predict(Matmul{.b = 1, .d = 8, .f = 8, .element = kBf16}, roofs).ridge_intensity;
  };
  EXPECT_NEAR(ridge(kV5e), 240.24, 0.005);                    // book: 240
  EXPECT_NEAR(ridge(with(3.94e14, 8.1e11)), 486.4, 0.05);     // int8
  EXPECT_NEAR(ridge(with(9.894e14, 3.352e12)), 295.2, 0.05);  // H100, dense
  EXPECT_NEAR(ridge(with(1e15, 3.35e12)), 298.5, 0.05);       // book: 298
}

TEST(PredictMatmul, CriticalBatches) {
  EXPECT_NEAR(critical(4096, kBf16, kV5e), 272.17, 0.005);
  EXPECT_NEAR(critical(4096, kBf16Int8, kV5e), 136.1, 0.05);
  EXPECT_NEAR(critical(1024, kBf16Int8, kV5e), 226.3, 0.05);
  const auto thumb = [](const ElementSizes& element, const Roofs& roofs) {
    return predict(Matmul{.b = 1, .d = 4096, .f = 4096, .element = element}, roofs)
        .critical_batch_rule_of_thumb.value();
  };
  EXPECT_NEAR(thumb(kBf16, kV5e), 240.24, 0.005);
  EXPECT_NEAR(thumb(kBf16Int8, kV5e), 120.12, 0.005);  // book: 120
  EXPECT_NEAR(thumb(kInt8, with(3.94e14, 8.1e11)), 243.2, 0.05);
}

TEST(PredictMatmul, BoundTurnsAtTheCriticalBatch) {
  const auto bound = [](std::int64_t b, std::int64_t size) {
    return predict(Matmul{.b = b, .d = size, .f = size, .element = kBf16Int8}, kV5e).bound;
  };
  EXPECT_EQ(bound(136, 4096), "HBM");
  EXPECT_EQ(bound(137, 4096), "compute");
  EXPECT_EQ(bound(226, 1024), "HBM");
  EXPECT_EQ(bound(227, 1024), "compute");
}

TEST(PredictMatmul, Everything) {
  // B = 2, D = 3, F = 5, bf16 x int8: 60 FLOP; 2 6 + 15 + 2 10 = 47 bytes. 6 s and 4.7 s.
  const Prediction p = predict(Matmul{.b = 2, .d = 3, .f = 5, .element = kBf16Int8}, with(10, 10));
  EXPECT_DOUBLE_EQ(p.flops, 60);
  EXPECT_DOUBLE_EQ(p.bytes, 47);
  EXPECT_DOUBLE_EQ(p.intensity, 60.0 / 47);
  EXPECT_DOUBLE_EQ(p.ridge_intensity, 1);
  EXPECT_DOUBLE_EQ(p.t_math_s, 6);
  EXPECT_DOUBLE_EQ(p.t_comms_s, 4.7);
  EXPECT_DOUBLE_EQ(p.t_lower_s, 6);
  EXPECT_DOUBLE_EQ(p.t_upper_s, 10.7);
  EXPECT_EQ(p.bound, "compute");
  EXPECT_DOUBLE_EQ(p.attainable_flops_per_s, 10);
  // 30 B = 16 B + 15: B = 15 / 14.
  EXPECT_DOUBLE_EQ(p.critical_batch.value(), 15.0 / 14);
}

TEST(PredictMatmul, BatchedStaysAtTwo) {
  for (const std::int64_t b : {1, 512}) {
    const Prediction p =
        predict(Matmul{.b = b, .d = 4096, .f = 4096, .element = kInt8, .batched = true}, kV5e);
    EXPECT_NEAR(p.intensity, 2, 2e-3);
    EXPECT_FALSE(p.critical_batch.has_value());
    EXPECT_FALSE(p.critical_batch_rule_of_thumb.has_value());
  }
}

TEST(PredictMatmul, Tiles) {
  Matmul work{.b = 4, .d = 4, .f = 4, .element = kInt8, .tile = Tile{2, 2, 2}};
  EXPECT_DOUBLE_EQ(predict(work, kV5e).bytes, 4 * (2 * 8 + 4));
  work.output_read = true;
  EXPECT_DOUBLE_EQ(predict(work, kV5e).bytes, 4 * (2 * 8 + 8));
  EXPECT_FALSE(predict(work, kV5e).critical_batch.has_value());
  // bf16: bm bn / (bm + bn) once the contraction is long.
  const Matmul deep{.b = 128, .d = 1 << 22, .f = 256, .element = kBf16, .tile = Tile{128, 256, 64}};
  EXPECT_NEAR(predict(deep, kV5e).intensity, 128.0 * 256 / (128 + 256), 0.01);
}

TEST(PredictMatmul, GivenFigures) {
  const Matmul work{.b = 2, .d = 3, .f = 5, .element = kBf16Int8};
  const Prediction slower = predict(work, with(10, 10), {.step_s = 12});
  EXPECT_DOUBLE_EQ(slower.t_lower_s, 12);
  EXPECT_DOUBLE_EQ(slower.t_upper_s, 12);
  EXPECT_DOUBLE_EQ(slower.attainable_flops_per_s, 5);
  const Prediction wider = predict(work, with(10, 10), {.params = 30});
  EXPECT_DOUBLE_EQ(wider.flops, 120);
  EXPECT_DOUBLE_EQ(wider.bytes, 62);
  EXPECT_DOUBLE_EQ(wider.critical_batch.value(), 30.0 / 44);  // 60 B = 16 B + 30
  const Matmul tiled{.b = 4, .d = 4, .f = 4, .element = kInt8, .tile = Tile{2, 4, 4}};
  EXPECT_DOUBLE_EQ(predict(tiled, kV5e, {.params = 20}).bytes,  // Y is loaded twice
                   predict(tiled, kV5e).bytes + 2 * 4);
}

TEST(PredictMatmul, RefusesNonsense) {
  EXPECT_THROW(predict(Matmul{.b = 0, .d = 1, .f = 1, .element = kBf16}, kV5e), BadInput);
  EXPECT_THROW(predict(Matmul{.b = 1, .d = 1, .f = 1, .element = {}}, kV5e), BadInput);
  EXPECT_THROW(predict(Matmul{.b = 1, .d = 1, .f = 1, .element = kBf16}, with(0, 1)), BadInput);
  EXPECT_THROW(
      predict(
          Matmul{.b = 1, .d = 1, .f = 1, .element = kBf16, .batched = true, .tile = Tile{1, 1, 1}},
          kV5e),
      BadInput);
}

TEST(PredictTimes, BooksTrillionFlops) {
  // 1e12 FLOP: 1.011 ms on H100, 1.099 ms on v6e. 2 B D F with B D F = 5e11.
  const Matmul work{.b = 5000, .d = 10000, .f = 10000, .element = kBf16};
  EXPECT_NEAR(predict(work, with(9.89e14, 3.35e12)).t_math_s, 1.011e-3, 5e-7);
  EXPECT_NEAR(predict(work, with(9.1e14, 1.6e12)).t_math_s, 1.099e-3, 5e-7);
}

TEST(PredictTimes, AShortKernelTakesALaunch) {
  // 2 x 64^3 FLOP at 1e12 take 0.52 us, 3 x 64^2 x 2 bytes 0.02 us.
  Roofs roofs = with(1e12, 1e12);
  roofs.launch_s = 2e-6;
  const Prediction p = predict({.b = 64, .d = 64, .f = 64, .element = kBf16}, roofs);
  EXPECT_EQ(p.bound, "launch");
  EXPECT_EQ(p.t_lower_s, 2e-6);
  EXPECT_NEAR(p.t_upper_s, 2e-6 + 524288e-12 + 24576e-12, 1e-15);
  EXPECT_NE(predict({.b = 4096, .d = 4096, .f = 4096, .element = kBf16}, roofs).bound, "launch");
}

TEST(PredictDot, IntensityIsAHalf) {
  const Prediction p = predict_dot(1 << 20, 2, kV5e);
  EXPECT_DOUBLE_EQ(p.flops, 2097151);
  EXPECT_DOUBLE_EQ(p.bytes, 4194306);
  EXPECT_NEAR(p.intensity, 0.5, 1e-6);
  EXPECT_EQ(p.bound, "HBM");
  EXPECT_FALSE(p.critical_batch.has_value());
  EXPECT_DOUBLE_EQ(predict_dot(7, 2, kV5e, {.params = 4}).bytes, 18);
  EXPECT_THROW(predict_dot(0, 2, kV5e), BadInput);
}

TEST(PredictAttention, KvHeadsSetTheBytes) {
  DecodeAttention work{.batch = 2,
                       .context = 10,
                       .heads = 4,
                       .kv_heads = 2,
                       .head_dim = 8,
                       .kv_bytes = 1,
                       .query_output_bytes = 2};
  const Prediction p = predict(work, kV5e);
  EXPECT_DOUBLE_EQ(p.flops, 2560);
  EXPECT_DOUBLE_EQ(p.bytes, 640 + 256);
  const Prediction half = predict(work, kV5e, {.params = 320});
  EXPECT_DOUBLE_EQ(half.flops, 1280);
  EXPECT_DOUBLE_EQ(half.bytes, 320 + 256);
  work.kv_heads = 3;
  EXPECT_THROW(predict(work, kV5e), BadInput);
}

TEST(PredictAttention, IntensityIsTheGroupWhateverTheBatch) {
  for (const std::int64_t batch : {1, 64}) {
    const DecodeAttention work{.batch = batch,
                               .context = 1 << 22,
                               .heads = 64,
                               .kv_heads = 8,
                               .head_dim = 128,
                               .kv_bytes = 2,
                               .query_output_bytes = 2};
    EXPECT_NEAR(predict(work, kV5e).intensity, 8, 1e-4);
  }
}

// Over chips: 1.97e14 FLOP/s, links of 4.5e10 bytes/s.
constexpr double kLink = 4.5e10;

TEST(PredictSharded, BooksTwoChips) {
  ShardedMatmul work{.b = 128, .d = 8192, .f = 4096, .chips = 2, .element = kBf16};
  const ShardedPrediction p = predict(work, kV5e, kLink);
  EXPECT_DOUBLE_EQ(p.t_math_s, 128.0 * 8192 * 4096 / 1.97e14);  // BDF / C
  EXPECT_DOUBLE_EQ(p.t_comms_s, 2.0 * 128 * 4096 / kLink);      // 2BF / W
  EXPECT_NEAR(p.critical_size.value(), 8755.6, 0.05);
  EXPECT_EQ(p.critical_dimension, "D");
  work.b = 7;  // the threshold does not depend on B
  EXPECT_NEAR(predict(work, kV5e, kLink).critical_size.value(), 8755.6, 0.05);
}

TEST(PredictSharded, LinkBoundBelowTheThreshold) {
  // Memory out of the way: a huge bandwidth.
  const Roofs roofs = with(1.97e14, 1e18);
  ShardedMatmul work{.b = 128, .d = 8754, .f = 4096, .chips = 2, .element = kBf16};
  EXPECT_EQ(predict(work, roofs, kLink).bound, "link");
  work.d = 8756;
  EXPECT_EQ(predict(work, roofs, kLink).bound, "compute");
}

TEST(PredictSharded, BytesOfEachSplit) {
  // B = 8, D = 12, F = 20 over 4 chips, 2 bytes: X 192, Y 480, Z 320 bytes; 960 FLOP a chip.
  ShardedMatmul work{.b = 8, .d = 12, .f = 20, .chips = 4, .shard = 'D', .element = kBf16};
  const auto at = [&](char shard, Collective collective) {
    work.shard = shard;
    work.collective = collective;
    return predict(work, kV5e, kLink);
  };
  const auto reduced = at('D', Collective::kAllReduce);
  EXPECT_DOUBLE_EQ(reduced.flops, 960);
  EXPECT_DOUBLE_EQ(reduced.memory_bytes, 48 + 120 + 320);
  EXPECT_DOUBLE_EQ(reduced.link_bytes, 480);  // 2 320 3/4
  EXPECT_DOUBLE_EQ(at('D', Collective::kReduceScatter).link_bytes, 240);
  EXPECT_DOUBLE_EQ(at('B', Collective::kNone).memory_bytes, 48 + 480 + 80);
  EXPECT_DOUBLE_EQ(at('B', Collective::kNone).link_bytes, 0);
  EXPECT_FALSE(at('B', Collective::kNone).critical_size.has_value());
  EXPECT_DOUBLE_EQ(at('B', Collective::kAllGather).link_bytes, 360);  // 480 3/4
  // 960 FLOP / C = 360 / W at 8; T_math grows with B: B = 8 360 C / (960 W) = 3 C / W.
  EXPECT_NEAR(at('B', Collective::kAllGather).critical_size.value(), 3 * 1.97e14 / kLink, 1e-6);
  EXPECT_EQ(at('B', Collective::kAllGather).critical_dimension, "B");
  EXPECT_DOUBLE_EQ(at('F', Collective::kNone).memory_bytes, 192 + 120 + 80);
  EXPECT_DOUBLE_EQ(at('F', Collective::kAllGather).link_bytes, 240);  // 320 3/4
  EXPECT_EQ(at('F', Collective::kAllGather).critical_dimension, "D");
}

TEST(PredictSharded, OneChipHasNoTraffic) {
  const ShardedMatmul work{.b = 8, .d = 12, .f = 20, .chips = 1, .element = kBf16};
  const auto p = predict(work, kV5e, kUnknownNumber);
  EXPECT_DOUBLE_EQ(p.link_bytes, 0);
  EXPECT_FALSE(p.critical_size.has_value());
}

TEST(PredictSharded, RefusesNonsense) {
  ShardedMatmul work{.b = 8, .d = 12, .f = 20, .chips = 5, .element = kBf16};
  EXPECT_THROW(predict(work, kV5e, kLink), BadInput);  // 5 does not divide 12
  work.chips = 0;
  EXPECT_THROW(predict(work, kV5e, kLink), BadInput);
  work.chips = 4;
  EXPECT_THROW(predict(work, kV5e, kUnknownNumber), BadInput);
  work.collective = Collective::kAllGather;
  EXPECT_THROW(predict(work, kV5e, kLink), BadInput);
  work.shard = 'F';
  work.collective = Collective::kAllReduce;
  EXPECT_THROW(predict(work, kV5e, kLink), BadInput);
  EXPECT_THROW(collective_of("all-to-all"), BadInput);
}

}  // namespace
}  // namespace roofline::predict
