#include "roofline/overlay/prediction.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "roofline/base/error.hpp"
#include "roofline/base/schema.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/results/bench_json.hpp"

namespace roofline {
namespace {

using nlohmann::json;

const std::string kName = "decode/avx2/bf16/B:1/T:2/layers:1/kv:s8/threads:2";

/// Three parts: 1e8 FLOP and 50 MB of weights; 2e8 FLOP and 10 MB of cache; glue of 1e4 FLOP.
json step(double milliseconds) {
  return {{"name", kName + "/real_time"},
          {"run_type", "iteration"},
          {"threads", 1},
          {"real_time", milliseconds},
          {"time_unit", "ms"},
          {"label",
           "device=cpu;exec_unit=simd-avx2;roof_dtype=f32;scope=program;parts=qkv attention glue;"
           "part_qkv=matmul/avx2_packed/bf16/simd-avx2/f32;"
           "part_attention=attention/avx2_int8/s8/simd-avx2/s8;"
           "part_glue=glue//f32/simd-avx2/f32;"},
          {"clock_hz", 3e9},
          {"flops", 300010000},
          {"bytes", 60000000},
          {"bytes_L1", 60020000},
          {"bytes_DRAM", 60000000},
          {"time_part_qkv", 0.0055},
          {"flops_part_qkv", 100000000},
          {"bytes_part_qkv", 50000000},
          {"bytes_L1_part_qkv", 50000000},
          {"bytes_DRAM_part_qkv", 50000000},
          {"time_part_attention", 0.0022},
          {"flops_part_attention", 200000000},
          {"bytes_part_attention", 10000000},
          {"bytes_L1_part_attention", 10000000},
          {"bytes_DRAM_part_attention", 10000000},
          {"time_part_glue", 0.0003},
          {"flops_part_glue", 10000},
          {"bytes_part_glue", 20000},
          {"bytes_L1_part_glue", 20000}};
}

/// A later sample says only what differs.
json later(double milliseconds, double scale) {
  return {{"name", kName + "/real_time"},    {"run_type", "iteration"},
          {"real_time", milliseconds},       {"time_unit", "ms"},
          {"time_part_qkv", 0.0055 * scale}, {"time_part_attention", 0.0022 * scale},
          {"time_part_glue", 0.0003 * scale}};
}

BenchData read(const std::vector<json>& rows) {
  return parse_bench_json(json{{"benchmarks", rows}}.dump(), "x.json");
}

Ceiling ceiling(const std::string& resource, const std::string& level, const std::string& dtype,
                double measured) {
  Ceiling c;
  c.device = "cpu";
  c.resource = resource;
  c.level = level;
  c.operation = "read";
  c.dtype = dtype;
  c.exec_unit = "simd-avx2";
  c.threads = 2;
  c.measured = measured;
  return c;
}

/// 100 GFLOP/s of f32, 400 of s8; L1 100 GB/s, DRAM 10 GB/s.
std::vector<Ceiling> ceilings() {
  return {ceiling("compute", "", "f32", 100e9), ceiling("compute", "", "s8", 400e9),
          ceiling("bandwidth", "L1", "f32", 100e9), ceiling("bandwidth", "DRAM", "f32", 10e9)};
}

TEST(ProgramRows, AreFollowedByTheirParts) {
  const BenchData data = read({step(8), later(16, 2), later(4, 0.5)});
  ASSERT_EQ(data.benchmarks.size(), 4u);
  const Benchmark& whole = data.benchmarks[0];
  EXPECT_EQ(whole.scope, "program");
  EXPECT_EQ(whole.parent, "");
  EXPECT_EQ(whole.times_s.size(), 3u);
  const Benchmark& attention = data.benchmarks[2];
  EXPECT_EQ(attention.scope, "operation");
  EXPECT_EQ(attention.parent, kName);
  EXPECT_EQ(attention.kernel, "decode_attention");
  EXPECT_EQ(attention.variant, "avx2_int8");
  EXPECT_EQ(attention.dtype, "s8");
  EXPECT_EQ(attention.roof_dtype, "s8");
  EXPECT_EQ(attention.shape, "B:1/T:2/layers:1/kv:s8");
  EXPECT_EQ(attention.threads, 2);
  EXPECT_EQ(attention.times_s, (std::vector<double>{0.0022, 0.0044, 0.0011}));
  EXPECT_EQ(attention.lived_times_s, attention.times_s);
  EXPECT_EQ(attention.beside.size(), 3u);
  EXPECT_EQ(attention.flops, 2e8);
  EXPECT_EQ(attention.level_bytes.size(), 2u);
  EXPECT_EQ(data.benchmarks[3].variant, "avx2");  // glue is no registered kernel
  EXPECT_EQ(data.benchmarks[3].level_bytes.size(), 1u);
}

std::string refusal(const std::vector<json>& rows) {
  try {
    read(rows);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ProgramRows, LackingSomethingAreRefused) {
  const auto without = [](const char* field) {
    json row = step(8);
    row.erase(field);
    return refusal({row});
  };
  const std::string where = "x.json: benchmarks[0] '" + kName + "/real_time': ";
  EXPECT_EQ(without("time_part_qkv"), where + "counter 'time_part_qkv' is not a number above 0");
  EXPECT_NE(without("flops_part_glue").find(where + "no counter 'flops_part_glue'"),
            std::string::npos);
  json row = step(8);
  row["label"] = "device=cpu;scope=program;parts=qkv;part_qkv=matmul/bf16;";
  EXPECT_EQ(refusal({row}),
            where + "label 'part_qkv' is not op/variant/dtype/exec_unit/roof_dtype");
  json cut = later(8, 1);
  cut.erase("time_part_glue");
  EXPECT_NE(refusal({step(8), cut}).find("benchmarks[1]"), std::string::npos);
}

TEST(Overlay, FlagsAProgramThatBeatsTheSumOfItsParts) {
  const auto verdict = [](double milliseconds) {
    json row = step(milliseconds);
    row["label"] =
        "device=cpu;exec_unit=simd-avx2;roof_dtype=f32;scope=program;parts=qkv attention;"
        "part_qkv=matmul/avx2_packed/bf16/simd-avx2/f32;"
        "part_attention=attention/avx2_int8/s8/simd-avx2/f32;";
    row["flops_part_attention"] = 400000000;
    row["flops"] = 500000000;
    const BenchData data = read({row});
    return overlay(data.benchmarks, ceilings()).front().verdict;
  };
  // As a whole 5 ms of arithmetic beside 6 ms of memory; part by part 5 ms of one, 4 of the other.
  EXPECT_EQ(verdict(8), "impossible");
  EXPECT_EQ(verdict(8.8), "ok");  // 2 % below their sum
}

TEST(Overlay, AddsUpTheBoundsOfParts) {
  const BenchData data = read({step(8)});
  const auto points = overlay(data.benchmarks, ceilings());
  ASSERT_EQ(points.size(), 7u);  // L1 and DRAM but for glue
  const Point& whole = points[1];
  EXPECT_EQ(whole.level, "DRAM");
  // QKV 5 ms of DRAM, attention 1 ms of DRAM against 0.5 ms of s8, glue 0.2 us of L1.
  EXPECT_NEAR(whole.t_lower_s, 6.0002e-3, 1e-12);
  // FLOP 1 + 0.5 ms + 0.1 us, DRAM 6 ms.
  EXPECT_NEAR(whole.t_upper_s, 7.5001e-3, 1e-12);
}

TEST(Predictions, AreHandWorked) {
  const BenchData data = read({step(8)});
  const auto points = overlay(data.benchmarks, ceilings());
  const auto rows = predictions(points);
  ASSERT_EQ(rows.size(), 4u);
  const Predicted& whole = rows[0];
  EXPECT_EQ(whole.part, "");
  EXPECT_EQ(whole.parameter_bytes, 5e7);
  EXPECT_EQ(whole.kv_bytes, 1e7);
  EXPECT_NEAR(whole.t_parameters_s, 5e-3, 1e-12);
  EXPECT_NEAR(whole.t_kv_s, 1e-3, 1e-12);
  EXPECT_NEAR(whole.t_flops_s, 1.5001e-3, 1e-12);
  EXPECT_NEAR(whole.t_lower_s, 6.0001e-3, 1e-12);
  EXPECT_NEAR(whole.t_upper_s, 7.5001e-3, 1e-12);
  EXPECT_NEAR(whole.overhead_s(), 1.9999e-3, 1e-12);
  EXPECT_NEAR(whole.error(), 8 / 6.0001 - 1, 1e-9);
  EXPECT_EQ(whole.verdict, "lost");  // 8 ms is beyond 3 % above 7.5001 ms
  EXPECT_EQ(rows[1].part, "qkv");
  EXPECT_NEAR(rows[1].t_lower_s, 5e-3, 1e-12);
  EXPECT_NEAR(rows[1].t_upper_s, 6e-3, 1e-12);
  EXPECT_EQ(rows[1].verdict, "explained");
  EXPECT_EQ(rows[2].parameter_bytes, 0);
  EXPECT_EQ(rows[2].kv_bytes, 1e7);
  EXPECT_EQ(rows[3].verdict, "overhead");
  EXPECT_NEAR(rows[3].overhead_s(), 0.3e-3 - 1e-7, 1e-12);
  const std::string text = prediction_summary(rows);
  EXPECT_NE(text.find("0 of 1 steps"), std::string::npos) << text;
  EXPECT_NE(text.find("qkv 500 us"), std::string::npos) << text;
}

TEST(Predictions, JudgeByBothBounds) {
  const auto verdict = [](double milliseconds) {
    const BenchData data = read({step(milliseconds)});
    const auto points = overlay(data.benchmarks, ceilings());
    return predictions(points).front().verdict;
  };
  EXPECT_EQ(verdict(5.80), "impossible");
  EXPECT_EQ(verdict(5.84), "explained");  // 3 % below T_lower, which the clock excuses
  EXPECT_EQ(verdict(7.7), "explained");
  EXPECT_EQ(verdict(7.8), "lost");
  // With hardly any arithmetic T_upper is 6.02 ms; within 15 % of T_lower is near.
  const auto narrow = [](double milliseconds) {
    json row = step(milliseconds);
    row["flops_part_qkv"] = row["flops_part_attention"] = 1000000;
    const BenchData data = read({row});
    const auto points = overlay(data.benchmarks, ceilings());
    return predictions(points).front().verdict;
  };
  EXPECT_EQ(narrow(6.1), "explained");
  EXPECT_EQ(narrow(6.89), "near");
  EXPECT_EQ(narrow(6.91), "lost");
}

TEST(Predictions, WhatALevelOfTheCachesForbidsIsImpossibleToo) {
  // 8 ms lie just above the main memory's T_upper; 1 GB of L1 alone would take 10.
  json row = step(8);
  row["bytes_L1"] = row["bytes_L1_part_qkv"] = 1e9;
  const BenchData data = read({row});
  const auto points = overlay(data.benchmarks, ceilings());
  ASSERT_TRUE(is_refused(points[1].verdict)) << points[1].verdict;
  EXPECT_EQ(predictions(points).front().verdict, "impossible");
}

TEST(Predictions, OwnScatterExcusesAStepAsInTheRoofline) {
  // 5.5 to 6.2 ms over nine samples, median 5.7: the interval reaches beyond T_lower's 6.0.
  std::vector<json> samples;
  for (const double milliseconds : {5.5, 5.6, 5.65, 5.7, 5.7, 5.75, 6.1, 6.15, 6.2})
    samples.push_back(step(milliseconds));
  const BenchData data = read(samples);
  const auto points = overlay(data.benchmarks, ceilings());
  const auto rows = predictions(points);
  EXPECT_NE(rows.at(0).point->verdict, "impossible");
  EXPECT_EQ(rows.at(0).verdict, "near");
}

TEST(Predictions, LeaveEmptyWhatTheyCannotKnow) {
  const BenchData data = read({step(8)});
  std::vector<Ceiling> some = ceilings();
  some.pop_back();
  const auto no_memory = overlay(data.benchmarks, some);
  const auto rows = predictions(no_memory);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].verdict, "no-roof");
  EXPECT_EQ(rows[3].verdict, "overhead");  // needs no memory
  const CsvTable table = prediction_table(rows, {.machine = "box"});
  for (const char* column : {"t_lower_s", "t_upper_s", "overhead_s", "error"}) {
    EXPECT_EQ(table.text(0, column), "") << column;
  }
  EXPECT_NE(table.text(0, "time_s"), "");
  EXPECT_NE(prediction_summary(rows).find("1 of them held against nothing"), std::string::npos)
      << prediction_summary(rows);
  const auto no_roofs = overlay(data.benchmarks, {});
  EXPECT_EQ(predictions(no_roofs).at(0).verdict, "no-roof");
  EXPECT_EQ(prediction_summary({}), "");
}

TEST(Predictions, TableHasEveryColumnFilled) {
  const BenchData data = read({step(8)});
  const auto points = overlay(data.benchmarks, ceilings());
  const CsvTable table = prediction_table(predictions(points), {.machine = "box"});
  ASSERT_EQ(table.rows(), 4u);
  EXPECT_EQ(table.text(0, "program"), kName);
  EXPECT_EQ(table.text(0, "part"), "step");
  EXPECT_EQ(table.text(2, "program"), kName);
  EXPECT_EQ(table.text(2, "part"), "attention");
  EXPECT_EQ(table.text(2, "variant"), "avx2_int8");
  for (const std::string& column : table.columns()) {
    if (column == "time_low_s" || column == "time_high_s") continue;  // one sample
    EXPECT_NE(table.text(0, column), "") << column;
  }
}

}  // namespace
}  // namespace roofline
