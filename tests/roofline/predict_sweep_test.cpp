// Predicted sweeps, and the measured points that go on them.
#include "roofline/predict/sweep.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace roofline::predict {
namespace {

const std::filesystem::path kMachine = TEST_SOURCE_DIR "/cli/predict/machine";

TEST(MeasuredMatmuls, FastestColdRunOnAllCores) {
  const auto points = measured_matmuls(kMachine, machine_hardware(kMachine), "bf16xs8");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].b, 1);
  EXPECT_EQ(points[0].d, 1024);
  EXPECT_EQ(points[0].f, 1024);
  EXPECT_EQ(points[0].flops_per_s, 30e9);
  EXPECT_EQ(points[0].variant, "avx2_skinny");
  EXPECT_EQ(points[1].b, 8);
  EXPECT_EQ(points[1].flops_per_s, 200e9);  // the faster one is above its roof
  EXPECT_EQ(points[1].variant, "avx2_packed");
  EXPECT_TRUE(measured_matmuls(kMachine, machine_hardware(kMachine), "bf16").empty());
  EXPECT_TRUE(measured_matmuls("nowhere", machine_hardware(kMachine), "bf16xs8").empty());
}

TEST(BatchSweep, BooksPlot) {
  BatchSweep sweep;
  sweep.roofs = {.peak = 1.97e14, .bandwidth = 8.2e11};
  for (const std::int64_t size : {4096, 1024}) {
    sweep.shapes.push_back({.d = size, .f = size, .element = {2, 1, 2}});
  }
  sweep.measured = {{3, 1024, 1024, 1e9, "mine"}};
  const CsvTable csv = CsvTable::parse(table(sweep).str(), "sweep");
  ASSERT_EQ(csv.rows(), 1024u);
  int reached[2] = {0, 0};  // the first B at the peak
  for (std::size_t i = 0; i < csv.rows(); ++i) {
    const double b = csv.number(i, "B");
    const double size = csv.number(i, "D");
    EXPECT_EQ(csv.number(i, "bytes"), 2 * b * size + size * size + 2 * b * size);
    int& first = reached[size == 4096 ? 0 : 1];
    if (first == 0 && csv.text(i, "bound") == "compute") first = static_cast<int>(b);
    EXPECT_EQ(csv.text(i, "measured_variant"), b == 3 && size == 1024 ? "mine" : "");
  }
  EXPECT_EQ(reached[0], 137);
  EXPECT_EQ(reached[1], 227);
}

TEST(ServeSweep, StepIsSplit) {
  ServeSweep sweep;
  sweep.base.model = transformer("llama3-8b");
  sweep.base.roofs = {.peak = 1e14, .bandwidth = 1e12, .dtype = "bf16"};
  sweep.base.memory_bytes = 24e9;
  sweep.contexts = {1000, 4000};
  sweep.most = 13;
  const CsvTable csv = CsvTable::parse(table(sweep).str(), "sweep");
  const double batches[] = {1, 2, 3, 4, 6, 8, 12};
  ASSERT_EQ(csv.rows(), 14u);
  for (std::size_t i = 0; i < csv.rows(); ++i) {
    EXPECT_EQ(csv.number(i, "batch"), batches[i % 7]);
    EXPECT_NEAR(csv.number(i, "t_step_s"),
                csv.number(i, "t_kv_s") +
                    std::max(csv.number(i, "t_parameters_s"), csv.number(i, "t_flops_s")),
                1e-10);
  }
  // 16.06 GB and 131,072 B a token: 12 x 4000 tokens are 6.3 GB, 22.4 of 24.
  EXPECT_EQ(csv.number(13, "fits"), 1);
  sweep.base.memory_bytes = kUnknownNumber;
  EXPECT_TRUE(std::isnan(CsvTable::parse(table(sweep).str(), "sweep").number(0, "fits")));
}

}  // namespace
}  // namespace roofline::predict
