// What the GPU's probes say of themselves, on its way into ceilings.csv: rows as bench writes them,
// with made-up times, through the reader and the ceilings.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/counters.hpp"
#include "kernels/decode/decode_gpu.hpp"
#include "kernels/fma_peak/fma_peak_gpu.hpp"
#include "kernels/link/link_gpu.hpp"
#include "kernels/registry.hpp"
#include "kernels/stream/stream_gpu.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/overlay/overlay.hpp"
#include "roofline/overlay/prediction.hpp"
#include "roofline/results/bench_json.hpp"

namespace kernels {
#define PROBE(op, variant)              \
  namespace op {                        \
  struct GpuKernel;                     \
  extern const Operation gpu_operation; \
  extern const GpuKernel variant;       \
  }
PROBE(chase, sm80_plain)
PROBE(decode, sm80_mma)
PROBE(fma_peak, sm80_cuda_core)
PROBE(fma_peak, sm80_mma)
PROBE(launch, sm80_graph)
PROBE(link, sm80_pinned)
PROBE(stream, sm80_l1)
PROBE(stream, sm80_vector)
#undef PROBE

namespace {

constexpr std::int64_t kMb = 1 << 20;
/// L2 up to half of 4 MB, HBM from 400 MB.
constexpr Caches kChip = {.l1d = 128 << 10, .l2 = 4 * kMb, .memory = 1024 * kMb, .cores = 2};

nlohmann::json row(const Operation& operation, const char* op, const char* variant,
                   const void* table, const Case& c, double seconds) {
  const KernelInfo info = {op, variant, Need::sm80, Threads::one, "", table};
  EXPECT_TRUE(operation.supports(info, c)) << op << " " << c.name();
  const auto problem = operation.bind(info, c, kChip);
  const auto [unit, dtype] = problem->exec_unit();
  nlohmann::json out = {{"name", std::string(op) + "/" + variant + "/" + c.name()},
                        {"run_type", "iteration"},
                        {"real_time", seconds},
                        {"time_unit", "s"},
                        {"label", "device=gpu;exec_unit=" + unit + ";roof_dtype=" + dtype + ";"},
                        {"flops", problem->cost().flops},
                        {"bytes", problem->cost().bytes}};
  if (const double set = problem->working_set_bytes(); !std::isnan(set))
    out["working_set_bytes"] = set;
  const LevelBytes levels = problem->traffic();
  if (!std::isnan(levels.l1)) out["bytes_L1"] = levels.l1;
  if (!std::isnan(levels.l2)) out["bytes_L2"] = levels.l2;
  if (!std::isnan(levels.dram)) out["bytes_HBM"] = levels.dram;
  return out;
}

nlohmann::json read(std::int64_t mb, double bytes_per_s) {
  const double bytes = static_cast<double>(mb * kMb);
  return row(stream::gpu_operation, "stream", "sm80_vector", &stream::sm80_vector,
             {.dtype = "f32", .keys = {{"access", "read"}, {"size", std::to_string(mb * kMb)}}},
             bytes / bytes_per_s);
}

TEST(GpuRows, BecomeTheCeilingsThatTheyMeasure) {
  nlohmann::json rows = nlohmann::json::array();
  rows.push_back(read(1, 4.0e12));
  rows.push_back(read(2, 4.1e12));
  // Between the levels, where L2 still serves a part: no one's plateau.
  rows.push_back(read(6, 3.9e12));
  rows.push_back(read(8, 3.8e12));
  rows.push_back(read(396, 3.7e12));
  rows.push_back(read(400, 2.9e12));
  rows.push_back(read(404, 3.0e12));
  rows.push_back(
      row(stream::gpu_operation, "stream", "sm80_l1", &stream::sm80_l1,
          {.dtype = "f32", .keys = {{"access", "read"}, {"size", "65536"}, {"level", "L1"}}},
          65536 / 8e12));
  for (const auto& [size, seconds] : {std::pair{"16384", 20e-9},
                                      {"32768", 20e-9},
                                      {"2097152", 200e-9},
                                      {"8388608", 400e-9},
                                      {"67108864", 500e-9},
                                      {"134217728", 500e-9}})
    rows.push_back(row(chase::gpu_operation, "chase", "sm80_plain", &chase::sm80_plain,
                       {.dtype = "u64", .keys = {{"size", size}}}, seconds));
  rows.push_back(row(launch::gpu_operation, "launch", "sm80_graph", &launch::sm80_graph,
                     {.dtype = "u64"}, 1.3e-6));
  for (const char* access : {"h2d", "d2h"})
    rows.push_back(row(link::gpu_operation, "link", "sm80_pinned", &link::sm80_pinned,
                       {.dtype = "u8", .keys = {{"access", access}, {"size", "1000000"}}}, 20e-6));
  rows.push_back(row(fma_peak::gpu_operation, "fma_peak", "sm80_mma", &fma_peak::sm80_mma,
                     {.dtype = "f16", .keys = {{"data", "random"}}}, 1e-5));

  const nlohmann::json file = {{"benchmarks", rows}};
  const auto data = roofline::parse_bench_json(file.dump(), "gpu.json");
  const auto ceilings = roofline::ceilings_from(data.benchmarks, {.machine = "box"});
  std::map<std::string, double> measured;
  for (const auto& c : ceilings.rows) EXPECT_EQ(c.verdict, "ok") << c.id() << ": " << c.cause;
  for (const auto& c : ceilings.rows)
    measured[c.resource + " " + (c.resource == "compute" ? c.dtype : c.level) + " " + c.operation] =
        c.measured;
  // 2 blocks of 8 warps, 8 chains, 4 steps, 64 iterations, 2 x 16 x 8 x 16 FLOP; two blocks an SM.
  const double flops = 2 * 2 * 8 * 8 * 4 * 64 * 4096.0;
  EXPECT_EQ(measured.size(), 10u);
  EXPECT_DOUBLE_EQ(measured["bandwidth L1 read"], 8e12);
  EXPECT_DOUBLE_EQ(measured["bandwidth L2 read"], 4.1e12);
  EXPECT_DOUBLE_EQ(measured["bandwidth HBM read"], 3.0e12);
  EXPECT_DOUBLE_EQ(measured["latency L1 chase"], 20e-9);
  EXPECT_DOUBLE_EQ(measured["latency L2 chase"], 200e-9);
  EXPECT_DOUBLE_EQ(measured["latency HBM chase"], 500e-9);
  EXPECT_DOUBLE_EQ(measured["latency launch sm80_graph"], 1.3e-6);
  EXPECT_DOUBLE_EQ(measured["link sm80_pinned h2d"], 5e10);
  EXPECT_DOUBLE_EQ(measured["link sm80_pinned d2h"], 5e10);
  EXPECT_DOUBLE_EQ(measured["compute f16 fma_peak"], flops / 1e-5);

  const auto file_of_table = std::filesystem::path(testing::TempDir()) / "gpu_ceilings.csv";
  roofline::ceilings_table(ceilings.rows).write(file_of_table);
  EXPECT_EQ(roofline::read_ceilings(file_of_table).size(), ceilings.rows.size());
}

/// Sizes of the quick suite that lie in L2, as the problems' traffic tells.
std::vector<std::int64_t> quick_in_l2(const Operation& operation, const Caches& chip) {
  const double l2 = static_cast<double>(chip.l2), inner = 8.0 * static_cast<double>(chip.l1d);
  std::vector<std::int64_t> out;
  for (const Case& c : operation.cases(chip)) {
    if (!c.quick || !c.text("level").empty() || c.text("access", "read") != "read") continue;
    const auto size = c.size("size");
    const double set = static_cast<double>(size);
    if (set <= 0.5 * l2 && (&operation == &stream::gpu_operation || set >= inner))
      out.push_back(size);
  }
  return out;
}

TEST(GpuRows, QuickHasSizesInEveryL2) {
  // Kilobytes of L2 and of an SM's L1: GA106, GA104, a seventh of A100, GA102, an eighth of H100,
  // AD107, AD103, A100, H100, L4, B200.
  constexpr std::pair<std::int64_t, std::int64_t> kChips[] = {
      {3072, 100},  {4096, 100},  {5120, 164},  {6144, 100},  {6400, 228},   {24576, 100},
      {65536, 100}, {40960, 164}, {51200, 228}, {49152, 100}, {129024, 228},
  };
  for (const auto& [l2, l1] : kChips) {
    Caches chip = {.l1d = l1 << 10, .l2 = l2 << 10, .memory = 24 * 1024 * kMb, .cores = 30};
    EXPECT_EQ(quick_in_l2(stream::gpu_operation, chip).size(), 2u) << l2;
    EXPECT_GE(quick_in_l2(chase::gpu_operation, chip).size(), 1u) << l2;
    if (l2 < 49152) continue;
    using Sizes = std::vector<std::int64_t>;
    EXPECT_EQ(quick_in_l2(stream::gpu_operation, chip), (Sizes{20 * kMb, 24 * kMb})) << l2;
    EXPECT_EQ(quick_in_l2(chase::gpu_operation, chip), (Sizes{8 * kMb, 16 * kMb})) << l2;
  }
}

/// A decode step with its parts, from the kernels' own words, beside what the ceilings predict.
TEST(GpuRows, OfADecodeStepArePredicted) {
  const Case c = {.dtype = "bf16xs8",
                  .keys = {{"B", "2"},
                           {"T", "9"},
                           {"layers", "2"},
                           {"kv", "s8"},
                           {"D", "64"},
                           {"F", "48"},
                           {"N", "4"},
                           {"K", "2"},
                           {"H", "64"},
                           {"V", "32"}}};
  nlohmann::json step =
      row(decode::gpu_operation, "decode", "sm80_mma", &decode::sm80_mma, c, 80e-6);
  Caches chip = kChip;
  chip.l2 = 16 << 10;  // less than a fifth of the step's weights
  const KernelInfo info = {"decode", "sm80_mma", Need::sm80, Threads::one, "", &decode::sm80_mma};
  const auto problem = decode::gpu_operation.bind(info, c, chip);
  step["label"] = bench::base_label(*problem, true);
  step["bytes_HBM"] = problem->traffic().dram;
  for (const Part& part : problem->parts()) {
    step["time_part_" + part.name] = 10e-6;
    step["flops_part_" + part.name] = part.cost.flops;
    step["bytes_part_" + part.name] = part.cost.bytes;
    step["bytes_L2_part_" + part.name] = part.traffic.l2;
    if (!std::isnan(part.traffic.dram)) step["bytes_HBM_part_" + part.name] = part.traffic.dram;
  }
  const nlohmann::json file = {
      {"benchmarks",
       {read(1, 4e12), read(400, 3e12),
        row(fma_peak::gpu_operation, "fma_peak", "sm80_mma", &fma_peak::sm80_mma,
            {.dtype = "bf16", .keys = {{"data", "random"}}}, 1e-5),
        row(fma_peak::gpu_operation, "fma_peak", "sm80_cuda_core", &fma_peak::sm80_cuda_core,
            {.dtype = "f32", .keys = {{"data", "random"}}}, 1e-5),
        step}}};
  const auto data = roofline::parse_bench_json(file.dump(), "gpu.json");
  const auto ceilings = roofline::ceilings_from(data.benchmarks, {.machine = "box"});
  const auto points = roofline::overlay(data.benchmarks, ceilings.rows);
  const auto rows = roofline::predictions(points);
  ASSERT_EQ(rows.size(), 8u);  // the step and seven parts
  // A layer: 64 x 512, 256 x 64, 64 x 96 and 48 x 64 weights, each column with a scale; 64 x 32 of
  // the head. Two layers of K and V, each 2 x 9 tokens of 2 heads of 64 bytes and a scale.
  const double parameters =
                   2 * (32768 + 16384 + 6144 + 3072 + 4 * (512 + 64 + 96 + 64)) + 2048 + 4 * 32,
               kv = 2 * 2 * 2 * 9 * 2 * (64 + 4);
  EXPECT_EQ(rows[0].point->level, "HBM");
  EXPECT_DOUBLE_EQ(rows[0].parameter_bytes, parameters);
  EXPECT_DOUBLE_EQ(rows[0].kv_bytes, kv);
  EXPECT_DOUBLE_EQ(rows[0].t_parameters_s, parameters / 3e12);
  EXPECT_DOUBLE_EQ(rows[0].t_kv_s, kv / 3e12);
  EXPECT_EQ(rows[0].verdict, "lost");
  for (const auto& part : rows) EXPECT_NE(part.verdict, "no-roof") << part.part;
  EXPECT_EQ(rows[7].part, "glue");
  EXPECT_EQ(rows[7].verdict, "overhead");
}

}  // namespace
}  // namespace kernels
