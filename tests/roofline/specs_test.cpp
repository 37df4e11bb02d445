// The spec data holds together, and the lookups find it.
#include "roofline/specs/specs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "roofline/base/error.hpp"
#include "roofline/model.hpp"

namespace roofline::specs {
namespace {

TEST(Chips, AllOfThemAreThere) {
  for (const char* name :
       {"h100-sxm", "h100-pcie", "h100-nvl", "h200-sxm", "gh200-96gb", "gh200-144gb",
        "a100-40gb-sxm", "a100-40gb-pcie", "a100-80gb-sxm", "a100-80gb-pcie", "l4", "l40s",
        "rtx-4090", "rtx-5090", "b200", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"}) {
    EXPECT_EQ(chip(name).name, name);
  }
  EXPECT_EQ(chips().size(), 19u);
}

TEST(Chips, AdvertisedFollowsFromTheClockOrANoteSaysWhy) {
  for (const auto& chip : chips()) {
    if (chip.kind != "gpu") continue;
    for (const auto& peak : chip.peaks) {
      ASSERT_TRUE(std::isfinite(peak.computed)) << chip.name << ' ' << peak.dtype;
      const double off = std::abs(peak.advertised / peak.computed - 1);
      EXPECT_TRUE(off < 0.01 || peak.note.find("by the clock") != std::string::npos)
          << chip.name << ' ' << peak.dtype << " on " << peak.exec_unit << ": " << peak.advertised
          << " against " << peak.computed;
      EXPECT_LT(off, 0.03) << chip.name << ' ' << peak.dtype;
    }
  }
}

TEST(Chips, BandwidthFollowsFromTheMemoryClockOrANoteSaysWhy) {
  int checked = 0;
  for (const auto& chip : chips()) {
    if (!std::isfinite(chip.memory_clock_hz)) continue;
    ASSERT_GT(chip.memory_bus_bits, 0) << chip.name;
    const double computed = 2 * chip.memory_clock_hz * chip.memory_bus_bits / 8;
    const double off = std::abs(chip.bandwidth / computed - 1);
    EXPECT_TRUE(off < 0.01 || chip.memory_note.find("own memory clock") != std::string::npos)
        << chip.name << ": " << chip.bandwidth << " against " << computed;
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

TEST(Chips, FiguresAreComplete) {
  std::set<std::string> names;
  for (const auto& chip : chips()) {
    EXPECT_TRUE(names.insert(chip.name).second) << chip.name;
    for (const auto& alias : chip.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_FALSE(chip.source.empty()) << chip.name;
    EXPECT_GT(chip.memory_bytes, 1e10) << chip.name;
    EXPECT_GT(chip.bandwidth, 1e11) << chip.name;
    EXPECT_FALSE(chip.peaks.empty()) << chip.name;
    for (const auto& peak : chip.peaks) {
      EXPECT_GT(peak.advertised, 1e11) << chip.name << ' ' << peak.dtype;
      EXPECT_TRUE(peak.confidence.empty() || peak.confidence == "derived" ||
                  peak.confidence == "unconfirmed")
          << peak.confidence;
    }
  }
}

TEST(Chips, KnownFigures) {
  const Chip& h100 = chip("h100-sxm");
  EXPECT_DOUBLE_EQ(h100.peak("bf16")->advertised, 989.4e12);
  EXPECT_NEAR(h100.peak("bf16")->computed, 989.4e12, 0.1e12);
  EXPECT_NEAR(ridge_intensity(h100.peak("bf16")->advertised, h100.bandwidth), 295.2, 0.05);
  EXPECT_DOUBLE_EQ(h100.peak("bf16", "cuda-core")->advertised, 133.8e12);
  EXPECT_DOUBLE_EQ(h100.peak("f64", "cuda-core")->advertised, 33.5e12);
  EXPECT_DOUBLE_EQ(h100.peak("f64", "wgmma")->advertised, 66.9e12);
  EXPECT_EQ(h100.peak("s4"), nullptr);
  EXPECT_DOUBLE_EQ(chip("tpu-v5e").peak("bf16")->advertised, 197e12);
  EXPECT_DOUBLE_EQ(chip("tpu-v4").memory_bytes, 34359738368.0);
  EXPECT_EQ(chip("tpu-v5e").sms, 0);
}

TEST(Chips, FoundByAliasAndByDevice) {
  EXPECT_EQ(chip("h200").name, "h200-sxm");
  EXPECT_EQ(chip("gh200").name, "gh200-96gb");
  EXPECT_EQ(chip_of_device("NVIDIA H100 80GB HBM3")->name, "h100-sxm");
  EXPECT_EQ(chip_of_device("NVIDIA H100 PCIe")->name, "h100-pcie");
  EXPECT_EQ(chip_of_device("NVIDIA A100-SXM4-40GB")->name, "a100-40gb-sxm");
  EXPECT_EQ(chip_of_device("NVIDIA L40"), nullptr);
  EXPECT_EQ(chip_of_device(""), nullptr);
}

TEST(GpuArchitectures, AgreeWithTheChipsThatAreListed) {
  int compared = 0;
  for (const auto& chip : chips()) {
    const auto* architecture = gpu_architecture(chip.compute_capability);
    if (!architecture) continue;
    EXPECT_FALSE(architecture->source.empty());
    for (const auto& peak : chip.peaks) {
      const double rate = architecture->flops_per_cycle_per_sm(peak.dtype, peak.exec_unit);
      if (std::isnan(rate)) continue;
      EXPECT_DOUBLE_EQ(rate, peak.flops_per_cycle_per_sm)
          << chip.name << ' ' << peak.dtype << ' ' << peak.exec_unit;
      ++compared;
    }
  }
  EXPECT_GT(compared, 80);
}

TEST(GpuArchitectures, KnownFigures) {
  ASSERT_NE(gpu_architecture("8.6"), nullptr);
  EXPECT_DOUBLE_EQ(gpu_architecture("8.6")->flops_per_cycle_per_sm("f32", "cuda-core"), 256);
  EXPECT_DOUBLE_EQ(gpu_architecture("9.0")->flops_per_cycle_per_sm("e4m3", "wgmma"), 8192);
  EXPECT_TRUE(std::isnan(gpu_architecture("8.9")->flops_per_cycle_per_sm("bf16", "mma")));
  EXPECT_EQ(gpu_architecture("7.0"), nullptr);
  EXPECT_EQ(gpu_architecture(""), nullptr);
}

std::string complaint(const std::string& name) {
  try {
    chip(name);
  } catch (const BadInput& fault) {
    return fault.what();
  }
  return "none";
}

TEST(Chips, UnknownNamesListNearOnes) {
  EXPECT_EQ(complaint("h200sxm"), "unknown chip 'h200sxm'; near it: h200-sxm, h100-sxm");
  EXPECT_EQ(complaint("a100-80gb"),
            "unknown chip 'a100-80gb'; near it: a100-80gb-pcie, a100-80gb-sxm");
  EXPECT_EQ(complaint("quantum"), "unknown chip 'quantum'; `roofline specs` lists those known");
}

TEST(Cpu, Zen3) {
  const auto* zen3 = microarchitecture("zen3");
  ASSERT_NE(zen3, nullptr);
  EXPECT_DOUBLE_EQ(zen3->flops_per_cycle("f32", "simd-avx2"), 32);
  EXPECT_DOUBLE_EQ(zen3->flops_per_cycle("f64", "simd-avx2"), 16);
  EXPECT_DOUBLE_EQ(zen3->flops_per_cycle("f32", "scalar"), 4);
  EXPECT_DOUBLE_EQ(zen3->flops_per_cycle("s8", "simd-avx2"), 64);
  EXPECT_TRUE(std::isnan(zen3->flops_per_cycle("f32", "simd-avx512")));
  EXPECT_DOUBLE_EQ(zen3->bytes_per_cycle("L1", "read", "simd-avx2"), 64);
  EXPECT_DOUBLE_EQ(zen3->bytes_per_cycle("L1", "write", "simd-avx2"), 32);
  // One load and one store a cycle; two loads and one store a cycle.
  EXPECT_DOUBLE_EQ(zen3->bytes_per_cycle("L1", "copy", "simd-avx2"), 64);
  EXPECT_DOUBLE_EQ(zen3->bytes_per_cycle("L1", "triad", "simd-avx2"), 96);
  EXPECT_TRUE(std::isnan(zen3->bytes_per_cycle("L2", "copy", "simd-avx2")));
  EXPECT_TRUE(std::isnan(zen3->bytes_per_cycle("DRAM", "read", "simd-avx2")));
}

TEST(Cpu, APairOfVpmaddwdAndVpadddSharesIntelsPorts) {
  for (const char* key : {"skylake-sp", "cascade-lake", "ice-lake-sp", "sapphire-rapids",
                          "emerald-rapids", "granite-rapids", "amx"}) {
    const auto* server = microarchitecture(key);
    ASSERT_NE(server, nullptr) << key;
    // zmm: 32 products, 2 ports, 2 instructions; ymm: 16 products, 3 ports, 2 instructions.
    EXPECT_DOUBLE_EQ(server->flops_per_cycle("s8", "simd-avx512"), 2 * 32 * 2.0 / 2) << key;
    EXPECT_DOUBLE_EQ(server->flops_per_cycle("s8", "simd-avx2"), 2 * 16 * 3.0 / 2) << key;
  }
  EXPECT_DOUBLE_EQ(microarchitecture("alder-lake-p")->flops_per_cycle("s8", "simd-avx2"), 48);
  // One port has the multiply and others the add; four pipes.
  EXPECT_DOUBLE_EQ(microarchitecture("haswell")->flops_per_cycle("s8", "simd-avx2"), 32);
  EXPECT_DOUBLE_EQ(microarchitecture("zen4")->flops_per_cycle("s8", "simd-avx2"), 64);
}

TEST(Cpu, NarrowerRegistersHaveARateOfTheirOwn) {
  const auto l1 = [](const char* key, const char* operation, const char* unit) {
    return microarchitecture(key)->bytes_per_cycle("L1", operation, unit);
  };
  EXPECT_DOUBLE_EQ(l1("zen5", "read", "simd-avx512"), 2 * 64);
  EXPECT_DOUBLE_EQ(l1("zen5", "read", "simd-avx2"), 2 * 32);
  EXPECT_DOUBLE_EQ(l1("zen5", "copy", "simd-avx2"), 2 * 64);  // writes are 64 bytes in both
  EXPECT_DOUBLE_EQ(l1("amx", "read", "simd-avx512"), 2 * 64);
  EXPECT_DOUBLE_EQ(l1("amx", "read", "simd-avx2"), 3 * 32);
  EXPECT_DOUBLE_EQ(l1("skylake-sp", "read", "simd-avx2"), 2 * 32);
  EXPECT_DOUBLE_EQ(l1("skylake-sp", "write", "simd-avx2"), 32);
  EXPECT_DOUBLE_EQ(l1("zen4", "read", "simd-avx512"), l1("zen4", "read", "simd-avx2"));
}

TEST(Cpu, UnknownStaysUnknown) {
  EXPECT_EQ(microarchitecture(""), nullptr);
  EXPECT_EQ(microarchitecture("zen9"), nullptr);
  EXPECT_TRUE(
      std::isnan(microarchitecture("neoverse-n1")->bytes_per_cycle("L1", "copy", "simd-avx2")));
}

TEST(Cpu, EveryFigureHasASource) {
  for (const auto& known : microarchitectures()) {
    std::set<std::string> seen;
    for (const auto& rate : known.compute) {
      EXPECT_FALSE(rate.source.empty()) << known.key;
      EXPECT_GT(rate.flops_per_cycle, 0) << known.key;
      EXPECT_TRUE(seen.insert(rate.dtype + rate.exec_unit).second)
          << known.key << ' ' << rate.dtype << ' ' << rate.exec_unit;
    }
    for (const auto& rate : known.levels) {
      EXPECT_FALSE(rate.source.empty()) << known.key;
      EXPECT_GT(rate.bytes_per_cycle, 0) << known.key;
    }
    const double f32 = known.flops_per_cycle("f32", "scalar");
    EXPECT_DOUBLE_EQ(f32, known.flops_per_cycle("f64", "scalar")) << known.key;
  }
  EXPECT_GE(microarchitectures().size(), 18u);
}

// Channels x 8 bytes x transfers a second.
TEST(Cpu, SocketMemoryIsThatOfItsChannels) {
  const std::pair<const char*, double> known[] = {
      {"AMD EPYC 7742 64-Core Processor", 8 * 8 * 3.2e9},
      {"AMD EPYC 75F3 32-Core Processor", 8 * 8 * 3.2e9},
      {"AMD EPYC 7B13", 8 * 8 * 3.2e9},
      {"AMD EPYC 9R14", 12 * 8 * 4.8e9},
      {"AMD EPYC 9474F 48-Core Processor", 12 * 8 * 4.8e9},
      {"AMD EPYC 8534P 64-Core Processor", 6 * 8 * 4.8e9},
      {"AMD EPYC 9965 192-Core Processor", 12 * 8 * 6.4e9},
      {"Intel(R) Xeon(R) Platinum 8280L CPU @ 2.70GHz", 6 * 8 * 2.933333e9},
      {"Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 8 * 8 * 3.2e9},
      {"Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", 8 * 8 * 4.8e9}};
  for (const auto& [model, bytes_per_s] : known) {
    const SocketMemory* found = socket_memory(model);
    ASSERT_NE(found, nullptr) << model;
    EXPECT_NEAR(found->bytes_per_s, bytes_per_s, 1e-3 * bytes_per_s) << model;
    EXPECT_FALSE(found->source.empty());
  }
  // A guest's name, another number of channels, speeds that differ within a series, desktops.
  for (const char* model :
       {"AMD EPYC", "AMD EPYC 7282 16-Core Processor",
        "Intel(R) Xeon(R) Platinum 8380H CPU @ 2.90GHz", "INTEL(R) XEON(R) PLATINUM 8592+",
        "Intel(R) Xeon(R) Gold 6448Y", "AMD EPYC 4564P 16-Core Processor",
        "AMD Ryzen 9 7950X 16-Core Processor", ""}) {
    EXPECT_EQ(socket_memory(model), nullptr) << model;
  }
}

}  // namespace
}  // namespace roofline::specs
