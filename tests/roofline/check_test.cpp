#include "roofline/check/check.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kTests = TEST_SOURCE_DIR;
const fs::path kMeasured = kTests / "../results/amd-epyc-zen3-4c/2026-11-21T062835Z";
const fs::path kMadeUp = kTests / "check/made-up-h100";

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "check_test.XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// A results folder that something can be planted in.
struct Planted {
  json machine;
  std::vector<Ceiling> ceilings;
  unsigned throttle = 0;
  std::string traced = "gpu";  ///< the GPU's name in trace.csv
  double steal = 0;
  int gpu_sms = 132;
  double memory_clock_hz = kUnknownNumber;
  json run = json::object();  ///< run.json

  json& state(const char* field) { return machine["state"][field]; }
  json& gpu(const char* field) { return machine["gpu"]["devices"][0][field]; }

  /// Multiplies what was measured of the resources whose id holds `part`.
  void scale(std::string_view part, double factor) {
    for (Ceiling& c : ceilings) {
      if (c.id().find(part) == std::string::npos) continue;
      for (double* value : {&c.measured, &c.measured_low, &c.measured_high}) *value *= factor;
    }
  }

  void write(const fs::path& folder) const {
    fs::create_directories(folder / "bench");
    write_atomically(folder / "machine.json", machine.dump());
    ceilings_table(ceilings).write(folder / "ceilings.csv");
    CsvTable trace(kTraceColumns);
    for (const std::string& device : {std::string("cpu"), traced}) {
      trace.add_row();
      trace.set("device", device);
      if (device[0] == 'g') trace.set("memory_clock_hz", memory_clock_hz);
      if (device[0] == 'c') trace.set("steal", steal);
      if (device[0] == 'g') trace.set("throttle", fmt::format("{:#x}", throttle));
    }
    trace.write(folder / "trace.csv");
    const json context = {{"context", {{"gpu_sms", std::to_string(gpu_sms)}}}};
    write_atomically(folder / "bench/any.json", context.dump());
    write_atomically(folder / "run.json", run.dump());
  }

  Report report() const {
    const TemporaryFolder folder;
    write(folder.path() / "run");
    return check_folder(folder.path() / "run", {});
  }
};

/// The measured 4-core machine with what its neighbours and its hypervisor hid or spoilt put right.
Planted healthy_cpu() {
  Planted out;
  out.machine = json::parse(read_text(kMeasured / "machine.json"));
  out.ceilings = read_ceilings(kMeasured / "ceilings.csv");
  out.machine["cpu"]["base_clock_hz"] = 2.45e9;
  out.state("governor") = "performance";
  out.state("boost") = true;
  out.state("clock_max_hz") = 3.5e9;
  out.state("clock_limit_hz") = 3.5e9;
  out.state("load_average") = {0.1, 0.1, 0.1};
  for (Ceiling& c : out.ceilings) {
    const Ceiling* quiet = under(out.ceilings, c, "quiet");
    if (quiet && &c != quiet)
      c.measured = c.measured_low = c.measured_high = 0.98 * quiet->measured;
    if (c.verdict == "no-plateau") c.verdict = "ok";
  }
  return out;
}

Planted healthy_gpu() {
  Planted out;
  out.machine = json::parse(read_text(kMadeUp / "machine.json"));
  out.ceilings = read_ceilings(kMadeUp / "ceilings.csv");
  return out;
}

const Resource& resource(const Report& report, std::string_view key) {
  const auto found = std::find_if(report.resources.begin(), report.resources.end(),
                                  [&](const Resource& r) { return r.key() == key; });
  if (found == report.resources.end()) throw std::runtime_error(fmt::format("no resource {}", key));
  return *found;
}

const Finding& finding(const Report& report, const std::string& name) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [&](const Finding& f) { return f.name == name; });
  if (found == report.findings.end()) throw std::runtime_error("no finding " + name);
  return *found;
}

std::vector<std::string> faults(const Report& report) {
  std::vector<std::string> out;
  for (const Finding& f : report.findings) {
    if (f.grade >= Grade::kNote) out.push_back(f.name);
  }
  return out;
}

struct Fault {
  const char* name;  ///< the finding that must be there, and no other
  Grade grade;
  std::function<void(Planted&)> plant;
  const char* resource;  ///< whose verdict must be `verdict`, with the finding among the causes
  Grade verdict;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

void expect_named(const Planted& planted, const Fault& fault) {
  const Report report = planted.report();
  EXPECT_EQ(faults(report), std::vector<std::string>{fault.name});
  EXPECT_EQ(finding(report, fault.name).grade, fault.grade);
  EXPECT_NE(text_of(report).find(fmt::format("{} {}: ", word(fault.grade), fault.name)),
            std::string::npos);
  EXPECT_EQ(report.verdict, fault.grade == Grade::kNote && fault.verdict == Grade::kPass
                                ? Grade::kPass
                                : std::max(fault.grade, fault.verdict));
  if (!*fault.resource) return;
  const Resource& held_back = resource(report, fault.resource);
  EXPECT_EQ(held_back.verdict, fault.verdict);
  EXPECT_EQ(std::count(held_back.causes.begin(), held_back.causes.end(), fault.name),
            fault.verdict >= Grade::kWarn ? 1 : 0);
}

TEST(Check, OfTwoWidthsOfLoadsTheFasterStandsForALevel) {
  Planted box = healthy_cpu();
  const auto reads = [&] {
    std::vector<std::string> keys;
    for (const Resource& r : box.report().resources)
      if (r.measured.level == "L1" && r.measured.resource == "bandwidth") keys.push_back(r.key());
    return keys;
  };
  ASSERT_EQ(reads().size(), 1u);
  std::vector<Ceiling> narrow;
  for (Ceiling c : box.ceilings) {
    if (c.level != "L1" || c.resource != "bandwidth" || c.operation != "read") continue;
    c.exec_unit = "simd-half";
    for (double* value : {&c.measured, &c.measured_low, &c.measured_high}) *value *= 0.5;
    narrow.push_back(c);
  }
  box.ceilings.insert(box.ceilings.end(), narrow.begin(), narrow.end());
  const auto kept = reads();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].find("simd-half"), std::string::npos);
  EXPECT_EQ(box.report().verdict, Grade::kPass);
}

TEST(Check, SaysWhatWasNotMeasured) {
  Planted box = healthy_cpu();
  EXPECT_EQ(text_of(box.report()).find("was not measured"), std::string::npos);
  std::erase_if(box.ceilings, [](const Ceiling& c) { return c.level == "DRAM"; });
  EXPECT_NE(text_of(box.report()).find("note: cpu: main memory was not measured"),
            std::string::npos);
}

class CpuFault : public testing::TestWithParam<Fault> {};

TEST_P(CpuFault, IsNamed) {
  Planted box = healthy_cpu();
  GetParam().plant(box);
  expect_named(box, GetParam());
}

const Fault kCpuFaults[] = {
    {"governor", Grade::kWarn, [](Planted& p) { p.state("governor") = "powersave"; }, "",
     Grade::kPass},
    {"slow-clock-source", Grade::kWarn, [](Planted& p) { p.state("clock_source") = "hpet"; }, "",
     Grade::kPass},
    {"boost-off", Grade::kWarn,
     [](Planted& p) {
       p.state("boost") = false;
       p.scale("f32/fma_peak/simd-avx2/threads:4", 0.7);  // of a clock that was not seen
     },
     "cpu/compute/f32/simd-avx2", Grade::kWarn},
    {"below-base-clock", Grade::kWarn,
     [](Planted& p) { p.machine["cpu"]["base_clock_hz"] = 3.6e9; }, "", Grade::kPass},
    {"clock-limit", Grade::kWarn, [](Planted& p) { p.state("clock_limit_hz") = 2e9; }, "",
     Grade::kPass},
    {"fewer-cores", Grade::kWarn,
     [](Planted& p) {
       p.machine["usable"] = {{"cpus", {0, 1}}, {"threads", 2}};
     },
     "", Grade::kPass},
    {"fewer-threads", Grade::kWarn,
     [](Planted& p) { std::erase_if(p.ceilings, [](const Ceiling& c) { return c.threads > 1; }); },
     "", Grade::kPass},
    {"other-processes", Grade::kWarn,
     [](Planted& p) {
       p.state("load_average") = {4.0, 4.0, 4.0};
       p.scale("bandwidth/L2/read", 0.4);
     },
     "cpu/bandwidth/L2/read", Grade::kFail},
    {"steal", Grade::kWarn, [](Planted& p) { p.steal = 0.05; }, "", Grade::kPass},
    {"shared-cores", Grade::kWarn,
     [](Planted& p) {
       for (Ceiling& c : p.ceilings) {
         if (c.condition == "as-lived") c.measured = c.measured_low *= 0.5;
       }
     },
     "", Grade::kPass},
    {"cpu-quota", Grade::kWarn, [](Planted& p) { p.machine["limits"]["cpu_quota_cores"] = 1.5; },
     "", Grade::kPass},
    {"small-pages", Grade::kWarn, [](Planted& p) { p.state("transparent_huge_pages") = "never"; },
     "", Grade::kPass},
};
INSTANTIATE_TEST_SUITE_P(All, CpuFault, testing::ValuesIn(kCpuFaults));

class GpuFault : public testing::TestWithParam<Fault> {};

TEST_P(GpuFault, IsNamed) {
  Planted box = healthy_gpu();
  GetParam().plant(box);
  expect_named(box, GetParam());
}

const Fault kGpuFaults[] = {
    {"fewer-sms", Grade::kFail,
     [](Planted& p) {
       p.gpu_sms = 114;
       p.scale("compute", 0.86);
     },
     "gpu/compute/bf16/wgmma", Grade::kWarn},
    {"narrower-bus", Grade::kFail,
     [](Planted& p) {
       p.gpu("memory_bus_bits") = 4096;
       p.scale("HBM/read", 0.8);
     },
     "gpu/bandwidth/HBM/read", Grade::kFail},
    {"less-gpu-memory", Grade::kFail, [](Planted& p) { p.gpu("memory_bytes") = 64000000000; }, "",
     Grade::kPass},
    {"mig", Grade::kFail, [](Planted& p) { p.gpu("mig") = true; }, "", Grade::kPass},
    {"vgpu", Grade::kFail, [](Planted& p) { p.gpu("virtualisation") = "vgpu"; }, "", Grade::kPass},
    {"power-limit-lowered", Grade::kWarn,
     [](Planted& p) {
       p.gpu("power_limit_w") = 400;
       p.scale("bf16/fma_peak/wgmma", 0.6);
     },
     "gpu/compute/bf16/wgmma", Grade::kFail},
    {"power-cap", Grade::kNote, [](Planted& p) { p.throttle = 0x4; }, "", Grade::kPass},
    {"thermal", Grade::kWarn, [](Planted& p) { p.throttle = 0x20; }, "", Grade::kPass},
    {"hardware-slowdown", Grade::kFail,
     [](Planted& p) {
       p.throttle = 0x8;
       p.scale("f32/fma_peak/cuda-core", 0.5);
     },
     "gpu/compute/f32/cuda-core", Grade::kFail},
    {"clock-locked", Grade::kWarn, [](Planted& p) { p.throttle = 0x2; }, "", Grade::kPass},
    {"application-clock", Grade::kWarn, [](Planted& p) { p.gpu("application_clock_hz") = 1.41e9; },
     "", Grade::kPass},
    {"ecc", Grade::kWarn, [](Planted& p) { p.gpu("ecc") = false; }, "", Grade::kPass},
    {"memory-clock", Grade::kFail,
     [](Planted& p) {
       p.gpu("memory_clock_max_hz") = 1.6e9;
       p.scale("HBM/read", 0.6);
     },
     "gpu/bandwidth/HBM/read", Grade::kFail},
    {"memory-clock", Grade::kFail,
     [](Planted& p) {
       p.memory_clock_hz = 1.6e9;  // while it was at work
       p.scale("HBM/read", 0.6);
     },
     "gpu/bandwidth/HBM/read", Grade::kFail},
    {"faulty-memory", Grade::kWarn, [](Planted& p) { p.gpu("remapped_rows_uncorrectable") = 3; },
     "", Grade::kPass},
    {"pcie-width", Grade::kWarn,
     [](Planted& p) {
       p.gpu("pcie_width") = 8;
       p.scale("link", 0.5);
     },
     "gpu/link/sm80_pinned/h2d", Grade::kFail},
    {"pcie-generation", Grade::kWarn,
     [](Planted& p) {
       p.gpu("pcie_generation") = 4;
       p.scale("link", 0.5);
     },
     "gpu/link/sm80_pinned/h2d", Grade::kFail},
    {"gpu-processes", Grade::kWarn, [](Planted& p) { p.gpu("processes") = 2; }, "", Grade::kPass},
};
INSTANTIATE_TEST_SUITE_P(All, GpuFault, testing::ValuesIn(kGpuFaults));

TEST(Check, HealthyBoxesPass) {
  for (const Planted& box : {healthy_cpu(), healthy_gpu()}) {
    const Report report = box.report();
    EXPECT_EQ(report.verdict, Grade::kPass) << text_of(report);
    EXPECT_TRUE(faults(report).empty());
    for (const Finding& f : report.findings) EXPECT_EQ(f.grade, Grade::kPass) << f.name;
  }
}

TEST(Check, WhatAnOldFolderDoesNotTellIsUnknown) {
  Planted box = healthy_gpu();
  box.gpu_sms = 0;
  json bare = json::object();
  bare["name"] = box.machine["gpu"]["devices"][0]["name"];
  box.machine["gpu"]["devices"][0] = bare;
  const Report report = box.report();
  for (const Finding& f : report.findings) {
    if (f.name == "other-gpus") continue;  // there is one
    const bool in_trace = f.name == "power-cap" || f.name == "thermal" ||
                          f.name == "hardware-slowdown" || f.name == "clock-locked";
    EXPECT_EQ(f.grade, in_trace ? Grade::kPass : Grade::kUnknown) << f.name;
  }
  EXPECT_EQ(report.verdict, Grade::kPass);  // of what is known
}

TEST(Check, Fp8ByMmaIsJudgedWhereTheChipHasIt) {
  Planted box = healthy_gpu();
  Resource row = resource(box.report(), "gpu/compute/e4m3/mma");
  EXPECT_NEAR(row.of_advertised, 0.302, 0.001);  // of wgmma's figure
  EXPECT_EQ(row.verdict, Grade::kUnknown);

  box.gpu("compute_capability") = "8.9";
  row = resource(box.report(), "gpu/compute/e4m3/mma");
  EXPECT_EQ(row.verdict, Grade::kFail);
}

TEST(Check, Fp64ByMmaIsAllOfHoppersTensorCore) {
  Planted box = healthy_gpu();
  EXPECT_EQ(resource(box.report(), "gpu/compute/f64/mma").verdict, Grade::kPass);
  box.scale("f64/fma_peak/mma", 0.72);  // 63 % would do for bf16
  EXPECT_EQ(resource(box.report(), "gpu/compute/bf16/mma").verdict, Grade::kPass);
  EXPECT_EQ(resource(box.report(), "gpu/compute/f64/mma").verdict, Grade::kWarn);
}

TEST(Check, Fp8ByMmaOnHopperIsHeldAgainstOtherRuns) {
  const TemporaryFolder root;
  Planted box = healthy_gpu();
  for (int i = 0; i < 3; ++i) {
    box.scale("launch", 1.001);  // runs, not copies of one
    box.write(root.path() / fmt::format("run{}", i));
  }
  box.scale("e4m3/fma_peak/mma", 0.5);
  box.write(root.path() / "own");
  const Report report = check_folder(root.path() / "own", {});
  EXPECT_EQ(resource(report, "gpu/compute/e4m3/mma").verdict, Grade::kFail);
}

TEST(Check, MmaIsNotHeldAgainstTcgen05) {
  Planted box = healthy_gpu();
  for (const bool told : {true, false}) {  // an older folder: by the chip's name
    box.gpu("name") = "NVIDIA B200";
    box.gpu("compute_capability") = told ? json("10.0") : json();
    const Report report = box.report();
    EXPECT_EQ(resource(report, "gpu/compute/bf16/mma").verdict, Grade::kUnknown);
    EXPECT_EQ(resource(report, "gpu/compute/s8/mma").verdict, Grade::kUnknown);
    EXPECT_EQ(resource(report, "gpu/compute/f32/cuda-core").verdict, Grade::kPass);
  }
  // On RTX cards of the same generation mma.sync is what there is.
  box.gpu("name") = "NVIDIA GeForce RTX 5090";
  box.gpu("compute_capability") = "12.0";
  EXPECT_EQ(resource(box.report(), "gpu/compute/bf16/mma").verdict, Grade::kFail);
}

TEST(Check, OneGpuOfSeveralIsNotTheBox) {
  Planted box = healthy_gpu();
  json& devices = box.machine["gpu"]["devices"];
  devices.push_back(devices[0]);
  devices.push_back(devices[0]);
  devices[1]["index"] = 1;
  devices[2]["index"] = 2;
  devices[1]["power_limit_w"] = 350;
  devices[2]["name"] = "NVIDIA A100-SXM4-80GB";
  Report report = box.report();
  EXPECT_EQ(faults(report), std::vector<std::string>{"other-gpus"});
  EXPECT_EQ(report.verdict, Grade::kPass);
  EXPECT_EQ(finding(report, "other-gpus").text,
            "GPU 0 was measured; nothing is said of 1 (NVIDIA H100 80GB HBM3), 2 "
            "(NVIDIA A100-SXM4-80GB): roofline run --gpu picks another");

  box.run = {{"gpu", "1"}};
  report = box.report();
  EXPECT_EQ(finding(report, "power-limit-lowered").grade, Grade::kWarn);
  EXPECT_TRUE(finding(report, "other-gpus")
                  .text.starts_with("GPU 1 was measured; nothing is said "
                                    "of 0 (NVIDIA H100 80GB HBM3), 2 ("));

  box.run = {{"gpu", "MIG-5c1f"}};
  report = box.report();
  EXPECT_EQ(finding(report, "mig").grade, Grade::kFail);
  EXPECT_EQ(finding(report, "power-limit-lowered").grade, Grade::kUnknown);
  EXPECT_TRUE(finding(report, "other-gpus")
                  .text.starts_with("a slice was measured, which GPU's is "
                                    "not known; nothing is said of 0 ("));
}

TEST(Check, TheTraceOfAGpuBehindHiddenOnesIsFound) {
  Planted box = healthy_gpu();
  box.throttle = 0x20;
  box.gpu("index") = 3;  // three GPUs before it are another job's
  box.traced = "gpu3";
  EXPECT_EQ(finding(box.report(), "thermal").grade, Grade::kWarn);
  box.traced = "gpu";
  EXPECT_EQ(finding(box.report(), "thermal").grade, Grade::kUnknown);
}

TEST(Check, AGpuThatNobodyKnowsIsUnknown) {
  Planted box = healthy_gpu();
  box.gpu("name") = "NVIDIA Z1";
  for (Ceiling& c : box.ceilings) c.advertised = c.theory_at_clock = kUnknownNumber;
  const Report report = box.report();
  EXPECT_EQ(report.verdict, Grade::kUnknown);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "nothing is known to be advertised for the GPU 'NVIDIA Z1'");
}

TEST(Check, TheoryOfAnArchitectureProvesNoFault) {
  Planted box = healthy_gpu();
  box.gpu("name") = "NVIDIA Z1";
  for (Ceiling& c : box.ceilings) c.advertised = kUnknownNumber;
  box.scale("bf16/fma_peak/wgmma", 0.5);  // FAIL where the chip is known to have all of it
  const Report report = box.report();
  EXPECT_EQ(resource(report, "gpu/compute/bf16/wgmma").verdict, Grade::kWarn);
  EXPECT_EQ(resource(report, "gpu/compute/f32/cuda-core").verdict, Grade::kPass);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0],
            "nothing is known to be advertised for the GPU 'NVIDIA Z1'; its theory is that of its "
            "architecture (compute capability 9.0)");
}

TEST(Check, TheGapIsAProductOfItsParts) {
  // By hand: 114/132 = 0.8636; 1.2/1.83 = 0.6557; measured is 0.95 of 114 x 4096 x 1.2e9 =
  // 532.3e12, against 989.4e12 advertised = 0.538; the rest = 0.538 / (0.8636 x 0.6557) = 0.950.
  Planted box = healthy_gpu();
  box.gpu_sms = 114;
  for (Ceiling& c : box.ceilings) {
    if (c.id() != "compute/bf16/fma_peak/wgmma/threads:1") continue;
    c.clock_hz = 1.2e9;
    c.measured = c.measured_low = c.measured_high = 0.95 * 114 * 4096 * 1.2e9;
  }
  const Resource peak = resource(box.report(), "gpu/compute/bf16/wgmma");
  EXPECT_NEAR(peak.of_advertised, 0.538, 0.0005);
  ASSERT_EQ(peak.gap.size(), 3u);
  EXPECT_NEAR(peak.gap[0].share, 0.8636, 0.0001);
  EXPECT_EQ(peak.gap[0].text, "SMs (114 of 132)");
  EXPECT_NEAR(peak.gap[1].share, 0.6557, 0.0001);
  EXPECT_EQ(peak.gap[1].text, "clock (1.20 GHz of 1.83 GHz)");
  EXPECT_NEAR(peak.gap[2].share, 0.950, 0.0005);
  EXPECT_EQ(peak.gap[2].text, "the rest");
  EXPECT_EQ(peak.verdict, Grade::kFail);
}

TEST(Check, AFailHoldsForTheWholeInterval) {
  Planted box = healthy_cpu();
  for (Ceiling& c : box.ceilings) {
    if (c.id() != "compute/f32/fma_peak/simd-avx2/threads:4" || c.condition != "quiet") continue;
    c.measured = 0.55 * c.theory_at_clock;
    c.measured_high = 0.65 * c.theory_at_clock;  // the limit is 0.60
  }
  EXPECT_EQ(resource(box.report(), "cpu/compute/f32/simd-avx2").verdict, Grade::kWarn);
  box.scale("f32/fma_peak/simd-avx2/threads:4", 0.9);
  const Resource peak = resource(box.report(), "cpu/compute/f32/simd-avx2");
  EXPECT_EQ(peak.verdict, Grade::kFail);
  EXPECT_EQ(peak.causes, std::vector<std::string>{"cause not found"});
}

/// The verdict where a unit has `share` of what its theory says.
Grade verdict_at(const char* dtype, const char* unit, double share) {
  Planted box = healthy_cpu();
  for (Ceiling& c : box.ceilings) {
    if (c.resource != "compute" || c.dtype != "f32" || c.exec_unit != "simd-avx2") continue;
    c.dtype = dtype;
    c.exec_unit = unit;
    c.measured = c.measured_low = c.measured_high = share * c.theory_at_clock;
  }
  return resource(box.report(), fmt::format("cpu/compute/{}/{}", dtype, unit)).verdict;
}

TEST(Check, OneUnitOf512BitsWhereTheoryHasTwoIsNoFault) {
  for (const auto& [dtype, unit] : {std::pair{"f32", "simd-avx512"},
                                    {"f64", "simd-avx512"},
                                    {"bf16xs8", "simd-avx512-vnni"},
                                    {"s8", "simd-avx512-vnni"}}) {
    EXPECT_EQ(verdict_at(dtype, unit, 0.95), Grade::kPass) << dtype << unit;
    EXPECT_EQ(verdict_at(dtype, unit, 0.49), Grade::kWarn) << dtype << unit;
    EXPECT_EQ(verdict_at(dtype, unit, 0.29), Grade::kFail) << dtype << unit;
  }
  EXPECT_EQ(verdict_at("f32", "simd-avx2", 0.49), Grade::kFail);
}

TEST(Check, L2IsHeldAgainstWhatHealthyCoresReach) {
  const auto verdict_of = [](double share) {
    Planted box = healthy_cpu();
    for (Ceiling& c : box.ceilings)
      if (c.resource == "bandwidth" && c.level == "L2" && c.operation == "read")
        c.measured = c.measured_low = c.measured_high = share * c.theory_at_clock;
    return resource(box.report(), "cpu/bandwidth/L2/read").verdict;
  };
  EXPECT_EQ(verdict_of(0.741), Grade::kPass);  // the lowest of the committed runs with AMX
  EXPECT_EQ(verdict_of(0.60), Grade::kWarn);
  EXPECT_EQ(verdict_of(0.44), Grade::kFail);
}

TEST(Check, ADoubtfulMeasurementWarns) {
  Planted box = healthy_cpu();
  for (Ceiling& c : box.ceilings) {
    if (c.level == "L1" && c.operation == "read") c.verdict = "no-plateau";
  }
  const Resource level = resource(box.report(), "cpu/bandwidth/L1/read");
  EXPECT_EQ(level.verdict, Grade::kWarn);
  EXPECT_EQ(level.causes, std::vector<std::string>{"no-plateau"});
}

TEST(Check, TypicalIsTheMedianOfOtherRuns) {
  const TemporaryFolder root;
  const double shares[] = {0.9, 1.0, 1.3};
  for (int i = 0; i < 3; ++i) {
    Planted other = healthy_cpu();
    other.scale("DRAM/read", shares[i]);
    other.write(root.path() / "machine" / fmt::format("run{}", i));
  }
  Planted elsewhere = healthy_cpu();
  elsewhere.machine["name"] = "another-machine";
  elsewhere.scale("DRAM/read", 9);
  elsewhere.write(root.path() / "another" / "run");
  fs::create_directories(root.path() / "machine" / "broken");
  write_atomically(root.path() / "machine/broken/machine.json", "{");
  write_atomically(root.path() / "machine/broken/ceilings.csv", "machine\n");

  Planted box = healthy_cpu();
  const double usual = resource(box.report(), "cpu/bandwidth/DRAM/read").measured.measured;
  box.scale("DRAM/read", 0.3);
  const fs::path folder = root.path() / "machine/own";
  box.write(folder);
  Report report = check_folder(folder, {});
  Resource dram = resource(report, "cpu/bandwidth/DRAM/read");
  EXPECT_EQ(dram.typical_runs, 3);
  EXPECT_NEAR(dram.typical / usual, 1.0, 1e-9);
  EXPECT_NEAR(dram.of_typical, 0.3, 1e-9);
  EXPECT_EQ(dram.verdict, Grade::kFail);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("left out: "), std::string::npos);
  EXPECT_NE(report.notes[0].find("broken/machine.json"), std::string::npos);

  // Two runs are shown, but judge nothing.
  fs::remove_all(root.path() / "machine/run2");
  fs::remove_all(root.path() / "machine/broken");
  report = check_folder(folder, root.path());
  dram = resource(report, "cpu/bandwidth/DRAM/read");
  EXPECT_EQ(dram.typical_runs, 2);
  EXPECT_EQ(dram.verdict, Grade::kUnknown);
}

TEST(Check, LatencyIsBetterWhenSmaller) {
  const TemporaryFolder root;
  Planted box = healthy_cpu();
  for (int i = 0; i < 3; ++i) {
    box.scale("f64/fma_peak/scalar", 1.001);  // runs, not copies of one
    box.write(root.path() / fmt::format("run{}", i));
  }
  box.scale("latency/DRAM", 3);
  box.write(root.path() / "own");
  const Resource dram = resource(check_folder(root.path() / "own", {}), "cpu/latency/DRAM/chase");
  EXPECT_NEAR(dram.of_typical, 1.0 / 3, 1e-9);
  EXPECT_EQ(dram.verdict, Grade::kFail);
}

TEST(Check, SharedCoresAreLaidToTheProcessesOfThisSystemWhereThereAreAny) {
  Planted box = healthy_cpu();
  box.state("hypervisor") = "KVM";
  for (Ceiling& c : box.ceilings) {
    if (c.condition == "as-lived") c.measured = c.measured_low *= 0.5;
  }
  const std::string peaks = "peaks over all moments are 49.0 % of those in quiet ones";
  EXPECT_EQ(finding(box.report(), "shared-cores").text,
            peaks + ": virtual CPUs share cores (SMT siblings) with others on the host");
  box.state("load_average") = {8.0, 8.0, 8.0};
  EXPECT_EQ(finding(box.report(), "shared-cores").text,
            peaks + ": other processes of this system run on these cores");
}

TEST(Check, EccCostsOnlyWithoutHbm) {
  Planted box = healthy_gpu();
  box.gpu("name") = "NVIDIA L40S";
  const Finding ecc = finding(box.report(), "ecc");
  EXPECT_EQ(ecc.grade, Grade::kNote);  // as such boards are shipped
  EXPECT_EQ(ecc.text, "ECC is on and kept in the memory itself, which costs bandwidth");
  box.scale("HBM/read", 0.5);
  const Resource memory = resource(box.report(), "gpu/bandwidth/HBM/read");
  EXPECT_EQ(std::count(memory.causes.begin(), memory.causes.end(), "ecc"), 1);
}

TEST(Check, ACopyOfARunIsNoOtherRun) {
  const TemporaryFolder root;
  for (const char* name : {"own", "copy", "again"}) healthy_cpu().write(root.path() / name);
  const Report report = check_folder(root.path() / "own", {});
  EXPECT_EQ(resource(report, "cpu/bandwidth/DRAM/read").typical_runs, 0);
}

TEST(Check, MainMemoryThatNothingJudgesIsSaid) {
  const Report report = healthy_cpu().report();
  EXPECT_EQ(resource(report, "cpu/bandwidth/DRAM/read").verdict, Grade::kUnknown);
  EXPECT_EQ(std::count_if(report.notes.begin(), report.notes.end(),
                          [](const std::string& note) {
                            return note.find("nothing is known to hold main memory against") !=
                                   std::string::npos;
                          }),
            1);
}

TEST(Check, CountsTheSmsOfPackedSamplesToo) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Planted box = healthy_gpu();
  box.gpu_sms = 114;
  box.write(run);
  const std::string pack =
      fmt::format("cd '{}' && tar -cJf bench.tar.xz bench && rm -r bench", run.string());
  ASSERT_EQ(std::system(pack.c_str()), 0);
  const Report report = check_folder(run, {});
  EXPECT_EQ(finding(report, "fewer-sms").grade, Grade::kFail);
  EXPECT_EQ(report.gpu, box.gpu("name"));
  // What cannot be unpacked is not known.
  write_atomically(run / "bench.tar.xz", "none");
  EXPECT_EQ(finding(check_folder(run, {}), "fewer-sms").grade, Grade::kUnknown);
}

// Two thirds of the modules, at nine tenths of what they carry.
TEST(Check, AMissingMemoryModuleIsSeenWhereTheMachineIsWhole) {
  Planted box = healthy_cpu();
  for (Ceiling& c : box.ceilings) {
    if (c.level == "DRAM" && c.operation == "read") {
      c.advertised = c.measured / (0.9 * 8 / 12);
      c.advertised_source = "a sheet";
    }
  }
  EXPECT_EQ(resource(box.report(), "cpu/bandwidth/DRAM/read").verdict, Grade::kWarn);
  box.scale("bandwidth/DRAM/read", 12.0 / 8);
  EXPECT_EQ(resource(box.report(), "cpu/bandwidth/DRAM/read").verdict, Grade::kPass);
}

TEST(Check, AGovernorThatRaisesClocksByItselfIsANote) {
  Planted box = healthy_cpu();
  box.state("governor") = "powersave";
  for (const auto& [driver, grade] :
       {std::pair("intel_pstate", Grade::kNote), std::pair("amd-pstate-epp", Grade::kNote),
        std::pair("acpi-cpufreq", Grade::kWarn)}) {
    box.state("frequency_driver") = driver;
    EXPECT_EQ(finding(box.report(), "governor").grade, grade) << driver;
  }
}

TEST(Check, WideVectorsBelowTheBaseClockAreNoFault) {
  Planted box = healthy_cpu();
  Ceiling wide = *std::find_if(box.ceilings.begin(), box.ceilings.end(), [&](const Ceiling& c) {
    return c.resource == "compute" && c.exec_unit == "simd-avx2" && c.threads == 4;
  });
  wide.exec_unit = "simd-avx512";
  wide.clock_hz = 1e9;
  box.ceilings.push_back(wide);
  EXPECT_EQ(finding(box.report(), "below-base-clock").grade, Grade::kPass);
}

TEST(Check, ClocksOfABoardThatNoSheetNames) {
  Planted box = healthy_gpu();
  box.gpu("name") = "NVIDIA H100 of another kind";
  box.gpu("sm_clock_max_hz") = 1.98e9;
  box.gpu("memory_clock_max_hz") = 2.619e9;
  box.memory_clock_hz = 2.619e9;
  for (Ceiling& c : box.ceilings) c.clock_hz = 1.9e9;
  EXPECT_EQ(finding(box.report(), "sm-clock").grade, Grade::kPass);
  EXPECT_EQ(finding(box.report(), "memory-clock").grade, Grade::kPass);
  box.memory_clock_hz = 1.3e9;
  for (Ceiling& c : box.ceilings) c.clock_hz = 0.33e9;
  EXPECT_EQ(finding(box.report(), "sm-clock").grade, Grade::kWarn);
  EXPECT_EQ(finding(box.report(), "memory-clock").grade, Grade::kWarn);
  box.throttle = 0x4;  // its power limit says why
  EXPECT_EQ(finding(box.report(), "sm-clock").grade, Grade::kPass);
}

TEST(Check, TheBuildBeforeARunIsNoOtherProcess) {
  Planted box = healthy_cpu();
  box.state("load_average") = {8.0, 4.0, 2.0};
  EXPECT_EQ(finding(box.report(), "other-processes").grade, Grade::kWarn);
  box.state("busy_share") = 0.02;
  EXPECT_EQ(finding(box.report(), "other-processes").grade, Grade::kPass);
  box.state("busy_share") = 0.5;
  EXPECT_EQ(finding(box.report(), "other-processes").grade, Grade::kWarn);
}

TEST(Check, ALinkFasterThanPcieIsNoFault) {
  Planted box = healthy_gpu();
  box.gpu("pcie_generation") = 1;
  box.scale("link", 7);  // 387 GB/s
  EXPECT_EQ(finding(box.report(), "pcie-generation").grade, Grade::kPass);
}

TEST(Check, AnIdleLinkIsNoFault) {
  Planted box = healthy_gpu();
  box.gpu("pcie_generation") = 1;  // and 55 GB/s were measured: it had risen
  EXPECT_EQ(finding(box.report(), "pcie-generation").grade, Grade::kPass);
}

TEST(Check, ABoardAtItsOwnPowerLimitIsNoFault) {
  const auto bf16 = [](const Planted& box) {
    return resource(box.report(), "gpu/compute/bf16/wgmma");
  };
  Planted box = healthy_gpu();
  for (Ceiling& c : box.ceilings) {
    if (c.resource != "compute" || c.device != "gpu") continue;
    c.theory_at_clock *= 0.5;  // half of its sheet's clock
    c.clock_hz *= 0.5;
  }
  box.scale("compute", 0.5);
  EXPECT_EQ(bf16(box).verdict, Grade::kFail);
  box.throttle = 0x4;
  EXPECT_EQ(bf16(box).verdict, Grade::kWarn);
  box.gpu("power_limit_w") = 400;  // lowered by somebody
  EXPECT_EQ(bf16(box).verdict, Grade::kFail);
}

TEST(Check, ASlotOfLessThanTheBoardIsNamed) {
  Planted box = healthy_gpu();  // the driver tells of the slot, not of the board
  box.gpu("pcie_generation") = 1;
  box.gpu("pcie_generation_max") = 4;
  box.scale("link", 0.47);  // 26 GB/s
  const Finding slot = finding(box.report(), "pcie-generation");
  EXPECT_EQ(slot.grade, Grade::kWarn);
  EXPECT_EQ(slot.text, "PCIe generation 4 of 5, and no transfer was faster");
  box.gpu("pcie_generation") = 5;
  box.gpu("pcie_width") = 8;
  box.gpu("pcie_width_max") = 8;
  const Finding riser = finding(box.report(), "pcie-width");
  EXPECT_EQ(riser.grade, Grade::kWarn);
  EXPECT_EQ(riser.text, "PCIe x8 of x16");
}

TEST(Check, AFieldOfAnotherTypeIsBadInput) {
  Planted box = healthy_cpu();
  box.state("boost") = "yes";
  try {
    box.report();
    FAIL();
  } catch (const BadInput& fault) {
    const std::string text = fault.what();
    EXPECT_NE(text.find("machine.json: field 'state/boost' is not true or false"),
              std::string::npos)
        << text;
  }
}

TEST(Thresholds, EveryFigureHasAReason) {
  const json file = json::parse(kThresholdsJson);
  for (const json& entry : file.at("shares")) {
    EXPECT_GT(entry.at("reason").get<std::string>().size(), 20u);
    if (!entry.value("judged", true)) continue;
    EXPECT_LT(entry.at("fail"), entry.at("warn"));
  }
  for (const auto& [name, entry] : file.at("limits").items()) {
    EXPECT_GT(entry.at("reason").get<std::string>().size(), 20u) << name;
  }
}

TEST(Thresholds, TheFirstRuleThatFitsCounts) {
  const Thresholds rules(R"({"limits": {}, "shares": [
    {"against": "theory", "device": "cpu", "dtype": "s8", "warn": 0.5, "fail": 0.4, "reason": "a"},
    {"against": "theory", "device": "cpu", "virtual": true, "warn": 0.6, "fail": 0.4, "reason": "b"},
    {"against": "theory", "device": "gpu", "capability": "9", "judged": false, "reason": "d"},
    {"against": "theory", "warn": 0.7, "fail": 0.4, "reason": "c"}]})");
  ShareRule wanted;
  wanted.against = "theory";
  wanted.device = "cpu";
  wanted.dtype = "f32";
  wanted.is_virtual = false;
  EXPECT_EQ(rules.share(wanted)->reason, "c");
  wanted.is_virtual = true;
  EXPECT_EQ(rules.share(wanted)->reason, "b");
  wanted.dtype = "s8";
  EXPECT_EQ(rules.share(wanted)->reason, "a");
  EXPECT_TRUE(rules.share(wanted)->judged);
  wanted.device = "gpu";
  wanted.capability = "10";
  EXPECT_EQ(rules.share(wanted)->reason, "c");
  wanted.capability = "9";
  EXPECT_EQ(rules.share(wanted)->reason, "d");
  EXPECT_FALSE(rules.share(wanted)->judged);
  wanted.against = "typical";
  EXPECT_EQ(rules.share(wanted), nullptr);
}

}  // namespace
}  // namespace roofline::check
