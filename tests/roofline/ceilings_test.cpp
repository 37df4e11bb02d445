#include "roofline/ceilings/ceilings.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "roofline/base/error.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/ceilings/roofs.hpp"

namespace roofline {
namespace {

constexpr std::int64_t KiB = 1024, MiB = 1024 * 1024;

/// 32 KiB and 512 KiB a core, 32 MiB shared by 4.
const std::vector<machine::Cache> kCaches = {
    {1, 32 * KiB, 1, 128 * KiB}, {2, 512 * KiB, 1, 2 * MiB}, {3, 32 * MiB, 4, 32 * MiB}};

Benchmark probe(const std::string& kernel, const std::string& variant, const std::string& dtype,
                std::vector<std::pair<std::string, std::string>> keys, int threads, double seconds,
                double flops, double bytes) {
  Benchmark b;
  b.kernel = kernel;
  b.variant = variant;
  b.dtype = b.roof_dtype = dtype;
  b.keys = std::move(keys);
  b.threads = threads;
  b.device = "cpu";
  b.exec_unit = variant == "scalar" ? "scalar" : "simd-" + variant;
  b.times_s = {seconds * 1.01, seconds, seconds * 0.99, seconds, seconds * 1.02, seconds * 0.98};
  b.lived_times_s = b.times_s;
  b.beside.resize(b.times_s.size());
  b.name = kernel + "/" + variant + "/" + dtype;
  for (const auto& [key, value] : b.keys) b.name += "/" + key + ":" + value;
  b.name += "/threads:" + std::to_string(threads);
  b.flops = flops;
  b.bytes = bytes;
  b.clock_hz = b.lived_clock_hz = 3e9;
  return b;
}

/// A read sweep: size per thread and GB/s.
std::vector<Benchmark> sweep(const std::vector<std::pair<std::int64_t, double>>& points,
                             int threads = 1) {
  std::vector<Benchmark> out;
  for (const auto& [size, rate] : points) {
    const double bytes = static_cast<double>(size) * threads;
    out.push_back(probe("stream", "avx2", "f32",
                        {{"access", "read"}, {"size", std::to_string(size)}}, threads,
                        bytes / rate / 1e9, 0, bytes));
    out.back().working_set_bytes = bytes;
  }
  return out;
}

CeilingContext context() {
  CeilingContext c;
  c.machine = "box";
  c.caches = kCaches;
  return c;
}

const Ceiling& at(const Ceilings& ceilings, const std::string& level) {
  for (const Ceiling& row : ceilings.rows) {
    if (row.level == level) return row;
  }
  throw std::runtime_error("no ceiling for " + level);
}

TEST(Ceilings, LevelOfASize) {
  EXPECT_EQ(level_of_size(16 * KiB, 1, kCaches), "L1");
  EXPECT_EQ(level_of_size(24 * KiB, 4, kCaches), "L1");
  EXPECT_EQ(level_of_size(32 * KiB, 1, kCaches), "");  // at the edge: neither
  EXPECT_EQ(level_of_size(64 * KiB, 4, kCaches), "L2");
  EXPECT_EQ(level_of_size(384 * KiB, 1, kCaches), "L2");
  EXPECT_EQ(level_of_size(512 * KiB, 1, kCaches), "");
  EXPECT_EQ(level_of_size(1 * MiB, 1, kCaches), "L3");
  EXPECT_EQ(level_of_size(24 * MiB, 1, kCaches), "L3");
  EXPECT_EQ(level_of_size(6 * MiB, 4, kCaches), "L3");  // four threads share the 32 MiB
  EXPECT_EQ(level_of_size(8 * MiB, 4, kCaches), "");
  EXPECT_EQ(level_of_size(64 * MiB, 1, kCaches), "");
  EXPECT_EQ(level_of_size(128 * MiB, 1, kCaches), "DRAM");
  EXPECT_EQ(level_of_size(32 * MiB, 4, kCaches), "DRAM");
  EXPECT_EQ(level_of_size(32 * MiB, 1, {}), "");
  EXPECT_EQ(level_of_size(260 * MiB, 1, {}), "DRAM");
  EXPECT_EQ(level_of_size(65 * MiB, 4, {}), "DRAM");
  EXPECT_EQ(level_of_size(63 * MiB, 4, {}), "");
}

TEST(Ceilings, AUsersKernelWithAProbesNameIsNone) {
  std::vector<Benchmark> rows;
  for (const char* name : {"launch", "stream", "pages", "chase", "link", "fma_peak"}) {
    rows.push_back(probe(name, "", "f32", {}, 1, 1e-6, 1e3, 1e3));
    rows.back().shape = "1024";
  }
  const Ceilings found = ceilings_from(rows, context());
  EXPECT_TRUE(found.rows.empty()) << found.rows.front().id();
  EXPECT_TRUE(found.sweep.empty());
}

TEST(Ceilings, TakesTheBestOfAFlatPiece) {
  // 100 and 97 agree; 60 does not.
  const auto c = ceilings_from(sweep({{8 * KiB, 97}, {16 * KiB, 100}, {24 * KiB, 60}}), context());
  EXPECT_NEAR(at(c, "L1").measured, 100e9, 1);
  EXPECT_EQ(at(c, "L1").verdict, "ok");
  EXPECT_EQ(at(c, "L1").working_set_bytes, 16 * KiB);
  EXPECT_EQ(at(c, "L1").samples, 6);
  // Times 0.98 … 1.02 of the median, so rates 1/1.02 … 1/0.98.
  EXPECT_NEAR(at(c, "L1").measured_low, 100e9 / 1.02, 1);
  EXPECT_NEAR(at(c, "L1").measured_high, 100e9 / 0.98, 1);
  ASSERT_EQ(c.sweep.size(), 3u);
  EXPECT_TRUE(c.sweep[0].plateau);
  EXPECT_TRUE(c.sweep[1].plateau);
  EXPECT_FALSE(c.sweep[2].plateau);
}

TEST(Ceilings, AnOutlierIsNoPlateau) {
  // 150 stands alone; the flat piece is 100, 95, 92.
  const auto c = ceilings_from(
      sweep({{4 * KiB, 150}, {8 * KiB, 100}, {16 * KiB, 95}, {24 * KiB, 92}}), context());
  EXPECT_NEAR(at(c, "L1").measured, 100e9, 1);
  EXPECT_EQ(at(c, "L1").verdict, "ok");
}

TEST(Ceilings, WithoutAFlatPieceTheValueIsFlagged) {
  const auto c = ceilings_from(sweep({{8 * KiB, 50}, {16 * KiB, 100}, {24 * KiB, 75}}), context());
  EXPECT_NEAR(at(c, "L1").measured, 100e9, 1);
  EXPECT_EQ(at(c, "L1").verdict, "no-plateau");
  EXPECT_EQ(at(c, "L1").cause,
            "no two neighbouring sizes of 3 within this level agree within 10 %");
  const auto one = ceilings_from(sweep({{16 * KiB, 100}}), context());
  EXPECT_EQ(at(one, "L1").verdict, "no-plateau");
  EXPECT_EQ(at(one, "L1").cause, "one size only within this level");
}

TEST(Ceilings, AProbeThatNamesItsLevelNeedsNoPlateau) {
  auto rows = sweep({{16 * KiB, 100}});
  rows[0].keys.emplace_back("level", "L1");
  EXPECT_EQ(at(ceilings_from(rows, context()), "L1").verdict, "ok");
  // Of several sizes two must still agree.
  rows = sweep({{8 * KiB, 50}, {16 * KiB, 100}});
  for (Benchmark& row : rows) row.keys.emplace_back("level", "L1");
  EXPECT_EQ(at(ceilings_from(rows, context()), "L1").verdict, "no-plateau");
}

TEST(Ceilings, TenPerCentIsTheLimit) {
  EXPECT_EQ(at(ceilings_from(sweep({{8 * KiB, 90.1}, {16 * KiB, 100}}), context()), "L1").verdict,
            "ok");
  EXPECT_EQ(at(ceilings_from(sweep({{8 * KiB, 89.9}, {16 * KiB, 100}}), context()), "L1").verdict,
            "no-plateau");
}

TEST(Ceilings, ALevelFasterThanTheOneBeforeIsOutOfOrder) {
  const auto c = ceilings_from(sweep({{8 * KiB, 100},
                                      {16 * KiB, 100},
                                      {64 * KiB, 120},
                                      {128 * KiB, 120},
                                      {128 * MiB, 10},
                                      {256 * MiB, 10}}),
                               context());
  EXPECT_EQ(at(c, "L1").verdict, "ok");
  EXPECT_EQ(at(c, "L2").verdict, "out-of-order");
  EXPECT_EQ(at(c, "L2").cause, "20.0 % faster than L1");
  EXPECT_EQ(at(c, "DRAM").verdict, "ok");
}

TEST(Ceilings, ALatencyShorterThanTheOneBeforeIsOutOfOrder) {
  std::vector<Benchmark> rows;
  for (const auto& [size, seconds] : {std::pair{"16384", 2e-9}, {"131072", 1e-9}}) {
    rows.push_back(probe("chase", "plain", "u64", {{"size", size}}, 1, seconds, 0, 8));
  }
  const auto c = ceilings_from(rows, context());
  EXPECT_EQ(at(c, "L1").resource, "latency");
  EXPECT_DOUBLE_EQ(at(c, "L1").measured, 2e-9);
  EXPECT_EQ(at(c, "L1").verdict, "ok");
  EXPECT_EQ(at(c, "L2").verdict, "out-of-order");
}

TEST(Ceilings, PagesOfEachSizeHaveTheirOwnAndNoPlateau) {
  std::vector<Benchmark> rows;
  for (const auto& [page, seconds] : {std::pair{"2048", 4e-4}, {"4096", 2e-4}}) {
    rows.push_back(probe("pages", "avx2", "f32",
                         {{"page_bytes", page}, {"size", std::to_string(256 * MiB)}}, 1, seconds, 0,
                         4e6));
  }
  rows.push_back(rows.back());  // another way, faster
  rows.back().variant = "avx2_into_l1";
  rows.back().bytes = 5e6;
  rows.back().exec_unit = "simd-avx2";
  const auto small =
      probe("pages", "avx2", "f32", {{"page_bytes", "4096"}, {"size", "16384"}}, 1, 1e-7, 0, 16384);
  rows.push_back(small);  // of a set that L1 holds
  rows.push_back(probe("pages", "avx2", "f32", {{"size", "16384"}}, 1, 1e-8, 0, 16384));
  const auto c = ceilings_from(rows, context());
  ASSERT_EQ(c.rows.size(), 3u);
  EXPECT_EQ(c.rows[0].id(), "bandwidth/DRAM/pages_2048/simd-avx2/threads:1");
  EXPECT_DOUBLE_EQ(c.rows[0].measured, 1e10);
  EXPECT_EQ(c.rows[1].operation, "pages_4096");
  EXPECT_EQ(c.rows[1].level, "L1");
  EXPECT_EQ(c.rows[2].level, "DRAM");
  EXPECT_DOUBLE_EQ(c.rows[2].measured, 2.5e10);
  for (const Ceiling& row : c.rows) EXPECT_EQ(row.verdict, "ok") << row.id() << row.cause;
}

TEST(Ceilings, AReadSlowerThanPagesAtRandomIsInDoubt) {
  const auto with_pages = [](double rate) {
    std::vector<Benchmark> rows = sweep({{192 * MiB, 10}, {256 * MiB, 10}});
    for (const auto& [page, share] : {std::pair{"2048", 0.9}, {"4096", 1.0}, {"8192", 0.95}}) {
      rows.push_back(probe("pages", "avx512", "f32",
                           {{"page_bytes", page}, {"size", std::to_string(256 * MiB)}}, 1,
                           4e6 / (share * rate) / 1e9, 0, 4e6));
    }
    Ceilings c = ceilings_from(rows, context());
    std::erase_if(c.rows, [](const Ceiling& row) { return row.operation != "read"; });
    return c.rows.at(0);
  };
  EXPECT_EQ(with_pages(8).verdict, "ok");
  EXPECT_EQ(with_pages(10.2).verdict, "ok") << "within what the clock is worth";
  EXPECT_EQ(with_pages(12).verdict, "below-kernel");
  EXPECT_EQ(with_pages(12).cause, "pages_4096 is 20.0 % above it");
}

TEST(Ceilings, OneVerdictForTwoCauses) {
  Ceiling row;
  flag(row, "below-kernel", "one");
  flag(row, "not-quiet", "two");
  flag(row, "below-kernel", "three");
  EXPECT_EQ(row.verdict, "below-kernel+not-quiet");
  EXPECT_EQ(row.cause, "one; two; three");
}

TEST(Ceilings, TheoryAtTheClock) {
  auto with_theory = context();
  // Zen 3: 32 fp32 FLOP per cycle in AVX2. 3 GHz, 2 threads: 192 GFLOP/s.
  with_theory.theory = [](const Ceiling& c) { return 32 * c.clock_hz * c.threads; };
  const auto fraction = [&](double share) {
    const double flops = 1e6;
    const auto c = ceilings_from(
        {probe("fma_peak", "avx2", "f32", {}, 2, flops / (share * 192e9), flops, 0)}, with_theory);
    return c.rows.at(0);
  };
  EXPECT_DOUBLE_EQ(fraction(0.95).theory_at_clock, 192e9);
  EXPECT_EQ(fraction(0.95).verdict, "ok");
  EXPECT_EQ(fraction(1.02).verdict, "ok");  // within what the clock is worth
  EXPECT_EQ(fraction(1.04).verdict, "above-theory");
  EXPECT_EQ(fraction(1.04).cause,
            "104.0 % of the theory at the observed clock; the clock is worth 3 %");
}

TEST(Ceilings, TheorySpecTablesGive) {
  machine::Machine machine;
  machine.name = "box";
  machine.microarchitecture = "zen3";
  const auto c = context_of(machine);
  Ceiling row;
  row.device = "cpu";
  row.resource = "compute";
  row.dtype = "f32";
  row.exec_unit = "simd-avx2";
  row.threads = 4;
  row.clock_hz = 3.5e9;
  EXPECT_DOUBLE_EQ(c.theory(row), 32 * 3.5e9 * 4);
  machine.facts["cpu"]["core_kinds"] = 2;  // fast cores and others
  EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));
  row.threads = 1;
  EXPECT_DOUBLE_EQ(context_of(machine).theory(row), 32 * 3.5e9);
  row.threads = 4;
  row.clock_hz = kUnknownNumber;
  EXPECT_TRUE(std::isnan(c.theory(row)));
  row.clock_hz = 3.5e9;
  row.resource = "bandwidth";
  row.operation = "read";
  row.level = "DRAM";
  EXPECT_TRUE(std::isnan(c.theory(row)));
  EXPECT_TRUE(std::isnan(c.advertised(row).value));  // no CPU vendor tells
  machine.microarchitecture = "something-new";
  EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));
}

// By hand: two sockets of 12 channels, 8 bytes wide, 4800 million times a second.
TEST(Ceilings, AWholeMachinesMainMemoryIsAdvertised) {
  machine::Machine machine;
  machine.cpu_model = "AMD EPYC 9654 96-Core Processor";
  machine.usable_threads = machine.physical_cores = 192;
  machine.facts["state"]["hypervisor"] = "none";
  machine.facts["cpu"]["sockets"] = 2;
  Ceiling row;
  row.device = "cpu";
  row.resource = "bandwidth";
  row.level = "DRAM";
  row.operation = "read";
  row.threads = 192;
  const auto advertised = [&] { return context_of(machine).advertised(row).value; };
  EXPECT_DOUBLE_EQ(advertised(), 2 * 12 * 8 * 4.8e9);
  row.threads = 1;
  EXPECT_TRUE(std::isnan(advertised()));
  row.threads = 192;
  row.level = "L3";
  EXPECT_TRUE(std::isnan(advertised()));
  row.level = "DRAM";
  machine.usable_threads = row.threads = 96;  // a container with half of the cores
  EXPECT_TRUE(std::isnan(advertised()));
  machine.usable_threads = row.threads = 192;
  machine.facts["state"]["hypervisor"] = "KVMKVMKVM";
  EXPECT_TRUE(std::isnan(advertised()));
  machine.facts["state"]["hypervisor"] = "none";
  machine.cpu_model = "AMD EPYC";  // as a guest is told
  EXPECT_TRUE(std::isnan(advertised()));
}

TEST(Ceilings, TheoryOfAGpu) {
  machine::Machine machine;
  machine.name = "box";
  machine.facts["gpu"]["devices"][0] = {{"index", 0},
                                        {"name", "NVIDIA H100 80GB HBM3"},
                                        {"memory_clock_max_hz", 2.619e9},
                                        {"memory_bus_bits", 5120}};
  const auto c = context_of(machine);
  EXPECT_EQ(c.machine_of("cpu"), "box");
  EXPECT_EQ(c.machine_of("gpu"), "nvidia-h100-80gb-hbm3");
  EXPECT_EQ(CeilingContext{.machine = "box"}.machine_of("gpu"), "box");
  Ceiling row;
  row.device = "gpu";
  row.resource = "bandwidth";
  row.operation = "read";
  row.clock_hz = 1.5e9;
  row.level = "L1";
  EXPECT_DOUBLE_EQ(c.theory(row), 128 * 132 * 1.5e9);
  row.level = "HBM";
  EXPECT_DOUBLE_EQ(c.theory(row), 3.35232e12);  // 2 * 2.619e9 * 640
  row.memory_clock_hz = 1.6e9;                  // what it ran at
  EXPECT_DOUBLE_EQ(c.theory(row), 2 * 1.6e9 * 640);
  machine.facts["gpu"]["devices"][0]["mig"] = true;
  EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));  // a slice has a part of the bus
  row.level = "L2";
  EXPECT_TRUE(std::isnan(c.theory(row)));
  row.resource = "compute";
  row.dtype = "f16";
  row.exec_unit = "cuda-core";
  EXPECT_DOUBLE_EQ(c.theory(row), 512 * 132 * 1.5e9);
  row.exec_unit = "wgmma";
  EXPECT_DOUBLE_EQ(c.theory(row), 4096 * 132 * 1.5e9);
  row.gpu_sms = 16;  // a slice of it
  EXPECT_DOUBLE_EQ(c.theory(row), 4096 * 16 * 1.5e9);
}

TEST(Ceilings, AdvertisedOfALinkIsOneWay) {
  machine::Machine machine;
  machine.facts["gpu"]["devices"][0] = {{"name", "NVIDIA H100 80GB HBM3"}};
  Ceiling row;
  row.device = "gpu";
  row.resource = "link";
  row.operation = "h2d";
  const Advertised advertised = context_of(machine).advertised(row);
  EXPECT_DOUBLE_EQ(advertised.value, 64e9);
  EXPECT_FALSE(advertised.source.empty());
}

Ceiling cuda_core_peak(const char* dtype, double clock_hz) {
  Ceiling row;
  row.device = "gpu";
  row.resource = "compute";
  row.dtype = dtype;
  row.exec_unit = "cuda-core";
  row.clock_hz = clock_hz;
  return row;
}

TEST(Ceilings, TheoryOfAGpuThatIsNotListedIsItsArchitectures) {
  machine::Machine machine;
  machine.facts["gpu"]["devices"][0] = {{"name", "NVIDIA A10"}, {"compute_capability", "8.6"}};
  Ceiling row = cuda_core_peak("f32", 1.695e9);
  EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));  // of how many SMs?
  row.gpu_sms = 72;
  EXPECT_NEAR(context_of(machine).theory(row), 31.2e12, 0.1e12);  // as its sheet says
  EXPECT_TRUE(std::isnan(context_of(machine).advertised(row).value));
  row.exec_unit = "mma";
  for (const char* dtype : {"s8", "bf16"}) {  // half on an A10G, and on a GeForce
    row.dtype = dtype;
    EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));
  }
  row.resource = "bandwidth";
  row.level = "L1";
  row.operation = "read";
  EXPECT_DOUBLE_EQ(context_of(machine).theory(row), 128 * 72 * 1.695e9);
  machine.facts["gpu"]["devices"][0]["compute_capability"] = nullptr;
  row.resource = "compute";
  row.dtype = "s8";
  EXPECT_TRUE(std::isnan(context_of(machine).theory(row)));
}

TEST(Ceilings, WhatASheetDoesNotTellIsTheArchitectures) {
  machine::Machine machine;
  machine.facts["gpu"]["devices"][0] = {{"name", "NVIDIA L4"}, {"compute_capability", "8.9"}};
  const Ceiling row = cuda_core_peak("f16", 2e9);
  EXPECT_DOUBLE_EQ(context_of(machine).theory(row), 256 * 58 * 2e9);
  EXPECT_TRUE(std::isnan(context_of(machine).advertised(row).value));
}

TEST(Ceilings, TheMemoryClockThatWasSeenReachesTheory) {
  auto peak = probe("fma_peak", "sm80_mma", "bf16", {{"data", "random"}}, 1, 1e-5, 1e9, 0);
  peak.device = "gpu";
  peak.memory_clock_hz = 1.6e9;
  auto with_theory = context();
  with_theory.theory = [](const Ceiling& c) { return c.memory_clock_hz * 1e6; };
  EXPECT_DOUBLE_EQ(ceilings_from({peak}, with_theory).rows.at(0).theory_at_clock, 1.6e15);
}

TEST(Ceilings, AGpuIsChosenByItsPosition) {
  machine::Machine machine;  // two of eight, the others hidden
  machine.facts["gpu"]["devices"] = {{{"index", 3}, {"name", "NVIDIA L4"}},
                                     {{"index", 5}, {"name", "NVIDIA H200"}}};
  EXPECT_EQ(context_of(machine, "1").gpu, "nvidia-h200");
  EXPECT_EQ(context_of(machine, "0").gpu, "nvidia-l4");
  EXPECT_EQ(context_of(machine, "").gpu, "nvidia-l4");
  EXPECT_EQ(context_of(machine, "MIG-12ab").gpu, "");  // of either
}

TEST(Ceilings, TheSmsThatAProbeSawReachTheory) {
  auto peak = probe("fma_peak", "sm80_mma", "bf16", {{"data", "random"}}, 1, 1e-5, 1e9, 0);
  peak.device = "gpu";
  peak.gpu_sms = 14;
  auto with_theory = context();
  with_theory.theory = [](const Ceiling& c) { return c.gpu_sms * 1e14; };
  auto sizes = sweep({{8 * KiB, 100}, {16 * KiB, 100}});
  const auto rows = ceilings_from({peak, sizes[0], sizes[1]}, with_theory).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[1].theory_at_clock, 14e14);
  EXPECT_TRUE(std::isnan(rows[0].theory_at_clock));  // the CPU's
}

TEST(Ceilings, OfTwoVariantsOnOneUnitTheBetterCounts) {
  auto fast = probe("fma_peak", "avx2", "f32", {}, 1, 1e-5, 1e6, 0);
  auto slow = probe("fma_peak", "avx2", "f32", {}, 1, 2e-5, 1e6, 0);
  slow.variant = "avx2_other";
  const auto c = ceilings_from({slow, fast}, context());
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(c.rows[0].measured, 1e11);
}

TEST(Ceilings, TableReadsBack) {
  auto rows =
      ceilings_from(sweep({{8 * KiB, 97}, {16 * KiB, 100}, {64 * KiB, 50}}), context()).rows;
  rows[0].theory_at_clock = 123e9;
  rows[0].cause = "a, \"b\"";
  const auto path = std::filesystem::temp_directory_path() / "roofline_ceilings_test.csv";
  ceilings_table(rows).write(path);
  const auto back = read_ceilings(path);
  std::filesystem::remove(path);
  ASSERT_EQ(back.size(), rows.size());
  EXPECT_EQ(back[0].id(), "bandwidth/L1/read/simd-avx2/threads:1");
  EXPECT_EQ(back[0].id(), rows[0].id());
  EXPECT_NEAR(back[0].measured, rows[0].measured, 1);
  EXPECT_EQ(back[0].theory_at_clock, 123e9);
  EXPECT_TRUE(std::isnan(back[0].advertised));
  EXPECT_EQ(back[0].cause, "a, \"b\"");
  EXPECT_EQ(ceilings_table(back).str(), ceilings_table(rows).str());
}

TEST(Ceilings, AnAdvertisedChipServes) {
  const auto rows = advertised_ceilings(specs::chip("h100-sxm"));
  bool found = false;
  for (const Ceiling& row : rows) {
    if (row.resource == "bandwidth") {
      EXPECT_EQ(row.id(), "h100-sxm/bandwidth/HBM");
      EXPECT_NEAR(row.value(), 3.352e12, 1e10);
    }
    if (row.dtype == "bf16" && row.exec_unit == "tensor") {
      found = true;
      EXPECT_NEAR(row.value(), 989.4e12, 1e11);
    }
  }
  EXPECT_TRUE(found);
}

/// Windows beside every sample of a row, and all of them quiet.
void gate(Benchmark& row) {
  for (Surroundings& beside : row.beside) beside = {3e9, 2, 5, 0, kUnknownNumber};
  row.quiet_samples = row.times_s.size();
}

TEST(Ceilings, QuietAndAsLived) {
  auto rows = sweep({{16 * KiB, 190}, {24 * KiB, 200}});
  for (Benchmark& row : rows) {
    gate(row);
    // Two more samples on shared cores: half the rate.
    row.lived_times_s.insert(row.lived_times_s.end(), 8, 2 * row.times_s[1]);
    row.beside.resize(row.lived_times_s.size(), {3e9, 1, 0, kUnknownNumber});
  }
  const auto found = ceilings_from(rows, context());
  ASSERT_EQ(found.rows.size(), 2u);
  const Ceiling& lived = *under(found.rows, found.rows[0], "as-lived");
  const Ceiling& quiet = *under(found.rows, found.rows[0], "quiet");
  EXPECT_NEAR(quiet.measured, 200e9, 1e6);
  EXPECT_EQ(quiet.samples, 6);
  EXPECT_EQ(quiet.samples_rejected, 8);
  EXPECT_NEAR(lived.measured, 100e9, 1e6);
  EXPECT_EQ(lived.samples, 14);
  EXPECT_TRUE(hidden(found.rows, lived));
  EXPECT_FALSE(hidden(found.rows, quiet));
  ASSERT_EQ(found.sweep.size(), 2u);  // each size once, from the samples that count
  EXPECT_EQ(found.sweep[0].samples_rejected, 8);
}

TEST(Ceilings, WhatTheLoadWasIsInTheCondition) {
  const auto peak = [](std::vector<std::pair<std::string, std::string>> keys, double seconds) {
    Benchmark row = probe("fma_peak", "sm90a_wgmma", "bf16", std::move(keys), 1, seconds, 1e9, 0);
    row.device = "gpu";
    row.exec_unit = "wgmma";
    return row;
  };
  const auto rows = ceilings_from({peak({{"data", "random"}}, 2e-6),
                                   peak({{"data", "zeros"}, {"hold", "burst"}}, 1e-6),
                                   peak({{"data", "random"}, {"hold", "sustained"}}, 4e-6)},
                                  context())
                        .rows;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].condition, "random+as-lived");
  EXPECT_DOUBLE_EQ(rows[0].measured, 5e14);
  EXPECT_EQ(rows[1].condition, "random+sustained+as-lived");
  EXPECT_DOUBLE_EQ(rows[1].measured, 2.5e14);
  EXPECT_EQ(rows[2].condition, "zeros+burst+as-lived");
  EXPECT_DOUBLE_EQ(rows[2].measured, 1e15);
  EXPECT_TRUE(is_roof(rows[0]));
  EXPECT_FALSE(hidden(rows, rows[0]));
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_FALSE(is_roof(rows[i]));
    EXPECT_TRUE(hidden(rows, rows[i]));
    EXPECT_FALSE(hidden(std::span(&rows[i], 1), rows[i])) << "alone it stands for itself";
  }
}

TEST(Ceilings, NeverQuietIsSaid) {
  auto rows = sweep({{16 * KiB, 190}, {24 * KiB, 200}});
  for (Benchmark& row : rows) {
    gate(row);
    row.quiet_samples = 1;
  }
  const auto found = ceilings_from(rows, context());
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].condition, "as-lived");
  EXPECT_EQ(found.rows[0].verdict, "not-quiet");
  EXPECT_EQ(found.sweep.size(), 2u);
}

TEST(Ceilings, AClockThatMovedIsNamed) {
  const auto peak_at = [](double lowest_clock) {
    Benchmark row = probe("fma_peak", "sm90a_wgmma", "bf16", {}, 1, 1e-6, 1e9, 0);
    row.device = "gpu";
    for (Surroundings& beside : row.beside) beside.clock_hz = 1.8e9;
    row.beside[4].clock_hz = lowest_clock;
    return ceilings_from({row}, context()).rows.at(0);
  };
  EXPECT_EQ(peak_at(1.65e9).verdict, "ok");  // 8 % below
  EXPECT_EQ(peak_at(1.59e9).verdict, "clock-moved");
  EXPECT_EQ(peak_at(1.59e9).cause, "the clock fell by 12 % between samples");
  EXPECT_EQ(peak_at(kUnknownNumber).verdict, "ok");
}

TEST(Ceilings, SamplesThatDisagreeAreNamed) {
  const auto peak_of = [](double slow) {
    Benchmark row = probe("fma_peak", "avx2", "f32", {}, 1, 1e-6, 1e9, 0);
    row.times_s = {1e-6, slow, 1e-6, slow, 1e-6, slow};
    row.lived_times_s = row.times_s;
    return ceilings_from({row}, context()).rows.at(0);
  };
  // Off their median of 1.15 by 0.15: 13 %; off one of 1.2 by 0.2: 17 %.
  EXPECT_EQ(peak_of(1.3e-6).verdict, "ok");
  EXPECT_EQ(peak_of(1.4e-6).verdict, "samples-disagree");
  EXPECT_EQ(peak_of(1.4e-6).cause, "samples lie 17 % off their median");
  // In a sweep it is the ceiling's own size that counts.
  auto rows = sweep({{16 * KiB, 190}, {24 * KiB, 200}});
  rows[1].lived_times_s = {1e-7, 1.4e-7, 1e-7, 1.4e-7, 1e-7, 1.4e-7};
  EXPECT_EQ(ceilings_from(rows, context()).rows.at(0).verdict, "samples-disagree");
}

TEST(Ceilings, AProbeBesideAKernelIsNone) {
  auto rows = sweep({{16 * KiB, 190}, {24 * KiB, 200}});
  for (Benchmark& row : rows) row.roof_of = "decode";
  EXPECT_TRUE(ceilings_from(rows, context()).rows.empty());
}

TEST(Ceilings, OfSeveralAttemptsTheBestCounts) {
  auto rows = sweep({{16 * KiB, 95}, {24 * KiB, 100}});
  for (Benchmark again : sweep({{16 * KiB, 190}, {24 * KiB, 200}})) {
    again.attempt = 1;
    rows.push_back(again);
  }
  rows.push_back(probe("fma_peak", "avx2", "f32", {}, 1, 1e-3, 1e8, 0));
  rows.push_back(probe("fma_peak", "avx2", "f32", {}, 1, 2e-3, 1e8, 0));
  rows.back().attempt = 1;
  const auto found = ceilings_from(rows, context());
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_NEAR(found.rows[0].measured, 1e11, 1e6);  // the first attempt was the better one
  EXPECT_NEAR(at(found, "L1").measured, 200e9, 1e6);
  EXPECT_EQ(found.sweep.size(), 2u);
}

}  // namespace
}  // namespace roofline
