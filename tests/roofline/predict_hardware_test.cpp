// Which peak and bandwidth a prediction takes from a chip or a machine.
#include "roofline/predict/hardware.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "roofline/base/error.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"

namespace roofline::predict {
namespace {

const std::filesystem::path kMachine = TEST_SOURCE_DIR "/cli/predict/machine";

std::string message(const auto& action) {
  try {
    action();
  } catch (const BadInput& fault) {
    return fault.what();
  }
  return "nothing thrown";
}

TEST(ChipHardware, Advertised) {
  const Hardware v5e = chip_hardware("tpu-v5e");
  EXPECT_EQ(v5e.name, "tpu-v5e");
  EXPECT_FALSE(v5e.measured);
  EXPECT_EQ(v5e.memory_bytes, 16e9);
  EXPECT_EQ(v5e.link_one_way, 4.5e10);
  EXPECT_EQ(v5e.link_axis, 9e10);  // both directions of the torus
  const Roofs bf16 = roofs(v5e, {.dtype = "bf16"});
  EXPECT_EQ(bf16.peak, 1.97e14);
  EXPECT_EQ(bf16.bandwidth, 8.19e11);
  EXPECT_EQ(bf16.level, "HBM");
  EXPECT_TRUE(bf16.notes.empty());
}

TEST(ChipHardware, OneWayIntoASwitchIsAnAxis) {
  EXPECT_EQ(chip_hardware("h100-sxm").link_one_way, 4.5e11);
  EXPECT_EQ(chip_hardware("h100-sxm").link_axis, 4.5e11);
  EXPECT_EQ(chip_hardware("tpu-v5p").link_axis, 1.8e11);  // of a torus both ways
}

TEST(MachineHardware, AllCoresOfTheFolder) {
  const Hardware machine = machine_hardware(kMachine);
  EXPECT_EQ(machine.name, "example-4c");
  EXPECT_TRUE(machine.measured);
  EXPECT_EQ(machine.device, "cpu");
  EXPECT_EQ(machine.threads, 4);
  EXPECT_EQ(machine.memory_bytes, 20e9);
  const Roofs f32 = roofs(machine, {.dtype = "f32"});
  EXPECT_EQ(f32.peak, 400e9);
  EXPECT_EQ(f32.exec_unit, "simd-avx2");
  EXPECT_EQ(f32.bandwidth, 50e9);  // reads: not the faster triad, not L3
  EXPECT_EQ(f32.level, "DRAM");
  ASSERT_EQ(f32.notes.size(), 1u);
  EXPECT_EQ(f32.notes[0], "the DRAM bandwidth is in doubt: no-plateau");
}

TEST(MachineHardware, WhatIsFlatGoesBeforeWhatIsFaster) {
  Hardware machine = machine_hardware(kMachine);
  for (const Ceiling& c : std::vector<Ceiling>(machine.ceilings)) {
    Ceiling other = c;
    other.exec_unit = "simd-avx512";
    other.measured = c.resource == "compute" ? 2 * c.measured : c.measured / 2;
    other.verdict = c.resource == "compute" ? "above-theory" : "ok";
    machine.ceilings.push_back(other);
  }
  const Roofs f32 = roofs(machine, {.dtype = "f32"});
  EXPECT_EQ(f32.peak, 400e9);
  EXPECT_EQ(f32.bandwidth, 25e9);  // of 50e9 with no plateau
  EXPECT_TRUE(f32.notes.empty());
}

TEST(MachineHardware, TheCsvAloneKnowsNoMemory) {
  const auto folder = std::filesystem::temp_directory_path() / "roofline_predict_csv_alone";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kMachine / "ceilings.csv", folder / "mine.csv",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(std::isnan(machine_hardware(folder / "mine.csv").memory_bytes));
  EXPECT_EQ(machine_hardware(kMachine / "ceilings.csv").memory_bytes, 20e9);
  std::filesystem::remove_all(folder);
}

TEST(MachineHardware, TheGpuWhereItWasMeasured) {
  const auto row = [](const char* device, const char* resource, const char* level,
                      const char* operation, const char* dtype, int threads, double value) {
    Ceiling c;
    c.machine = "box";
    c.device = device;
    c.resource = resource;
    c.level = level;
    c.operation = operation;
    c.dtype = dtype;
    c.exec_unit = device == std::string("gpu") ? "wgmma" : "simd-avx512";
    c.threads = threads;
    c.measured = value;
    return c;
  };
  const auto folder = std::filesystem::temp_directory_path() / "roofline_predict_gpu";
  std::filesystem::create_directories(folder);
  ceilings_table({row("cpu", "compute", "", "fma_peak", "f32", 16, 2e12),
                  row("cpu", "bandwidth", "DRAM", "read", "f32", 16, 3e11),
                  row("gpu", "compute", "", "fma_peak", "bf16", 1, 7e14),
                  row("gpu", "bandwidth", "HBM", "read", "f32", 1, 3e12),
                  row("gpu", "latency", "launch", "sm80_graph", "u64", 1, 1e-6),
                  row("gpu", "latency", "launch", "sm80_stream", "u64", 1, 2e-6)})
      .write(folder / "ceilings.csv");
  write_atomically(folder / "machine.json", R"({"gpu": {"devices": [{"memory_bytes": 8e10}]}})");
  const Hardware gpu = machine_hardware(folder);
  EXPECT_EQ(gpu.device, "gpu");
  EXPECT_EQ(gpu.memory_bytes, 8e10);
  EXPECT_EQ(roofs(gpu, {.dtype = "bf16"}).peak, 7e14);
  EXPECT_EQ(roofs(gpu, {.dtype = "bf16"}).level, "HBM");
  EXPECT_EQ(roofs(gpu, {.dtype = "bf16"}).launch_s, 2e-6);
  write_atomically(folder / "machine.json",
                   R"({"gpu": {"devices": [{"memory_bytes": 1.6e10}, {"memory_bytes": 8e10}]}})");
  EXPECT_EQ(machine_hardware(folder).memory_bytes, 1.6e10);
  write_atomically(folder / "run.json", R"({"gpu": "1"})");
  EXPECT_EQ(machine_hardware(folder).memory_bytes, 8e10);
  write_atomically(folder / "run.json", R"({"gpu": "MIG-12ab"})");
  EXPECT_TRUE(std::isnan(machine_hardware(folder).memory_bytes));
  write_atomically(folder / "run.json", R"({"gpu": 1})");
  EXPECT_NE(message([&] { machine_hardware(folder); }).find("run.json: field 'gpu' is not a text"),
            std::string::npos);
  std::filesystem::remove(folder / "run.json");
  write_atomically(folder / "machine.json", R"({"gpu": {"devices": [{"memory_bytes": 8e10}]}})");
  const Hardware cpu = machine_hardware(folder, "cpu");
  EXPECT_EQ(roofs(cpu, {.dtype = "f32"}).peak, 2e12);
  EXPECT_EQ(roofs(cpu, {.dtype = "f32"}).bandwidth, 3e11);
  EXPECT_EQ(roofs(cpu, {.dtype = "f32"}).launch_s, 0);
  EXPECT_TRUE(std::isnan(cpu.memory_bytes));
  std::filesystem::remove_all(folder);
  EXPECT_NE(message([&] { machine_hardware(folder); }).find("No such file"), std::string::npos);
}

TEST(MachineHardware, QuietBeforeLived) {
  const auto path = std::filesystem::temp_directory_path() / "roofline_predict_quiet.csv";
  std::string text = read_text(kMachine / "ceilings.csv");
  const std::string quiet = ",DRAM,read,f32,simd-avx2,4,quiet,300000000,50000000000,";
  const std::size_t at = text.find(quiet), begin = text.rfind('\n', at) + 1;
  std::string lived = text.substr(begin, text.find('\n', at) + 1 - begin);
  lived.replace(lived.find("quiet"), 5, "as-lived");
  lived.replace(lived.find("50000000000"), 11, "55000000000");  // disturbed, and still faster
  write_atomically(path, text + lived);
  EXPECT_EQ(roofs(machine_hardware(path), {.dtype = "f32"}).bandwidth, 50e9);
  std::filesystem::remove(path);
}

TEST(MachineHardware, NoRowsOfThatDevice) {
  EXPECT_NE(message([] {
              machine_hardware(kMachine, "gpu");
            }).find("no measured peak or main memory of device 'gpu'"),
            std::string::npos);
}

TEST(Roofs, AWiderTypeServesUnlessTheUserChose) {
  const Hardware machine = machine_hardware(kMachine);
  const Roofs widened = roofs(machine, {.dtype = "bf16"});
  EXPECT_EQ(widened.dtype, "f32");
  EXPECT_EQ(widened.notes[0], "no bf16 peak: computed in f32");
  EXPECT_EQ(roofs(machine, {.dtype = "s4"}).dtype, "s8");
  EXPECT_EQ(message([&] { roofs(machine, {.dtype = "bf16", .dtype_chosen = true}); }),
            "example-4c has no bf16 peak; it has f32, f64, s8 on scalar, simd-avx2 (or give "
            "--peak)");
  EXPECT_EQ(message([] { roofs(chip_hardware("tpu-v5e"), {.dtype = "f32"}); }),
            "tpu-v5e has no f32 peak; it has bf16, s8 on mxu (or give --peak)");
}

TEST(Roofs, OperandsOfTwoTypesAsTheyAre) {
  Hardware machine = machine_hardware(kMachine);
  Ceiling pair = machine.ceilings.front();
  pair.dtype = "bf16xs8";
  pair.exec_unit = "simd-avx512-vnni";
  pair.measured = 900e9;  // of f32 400e9
  machine.ceilings.push_back(pair);
  const Roofs found = roofs(machine, {.dtype = "bf16", .mixed = "bf16xs8"});
  EXPECT_EQ(found.dtype, "bf16xs8");
  EXPECT_EQ(found.peak, 900e9);
  EXPECT_TRUE(found.notes.empty() || found.notes[0].find("computed in") == std::string::npos);
  // The higher of the two, none but what the user names, and none of another pair.
  EXPECT_EQ(roofs(machine, {.dtype = "s8", .mixed = "s8xs4"}).dtype, "s8");
  EXPECT_EQ(roofs(machine, {.dtype = "f32", .mixed = "bf16xs8", .dtype_chosen = true}).dtype,
            "f32");
  machine.ceilings.back().measured = 300e9;
  EXPECT_EQ(roofs(machine, {.dtype = "bf16", .mixed = "bf16xs8"}).dtype, "f32");
}

TEST(Roofs, MissingOnes) {
  Hardware cpu = machine_hardware(kMachine);
  std::erase_if(cpu.ceilings, [](const Ceiling& c) { return c.resource == "bandwidth"; });
  EXPECT_EQ(roofs(cpu, {.dtype = "f32"}, kUnknownNumber, 1e11).level, "DRAM");
  cpu.ceilings.clear();
  EXPECT_EQ(message([&] { roofs(cpu, {.dtype = "bf16"}, kUnknownNumber, 1e11); }),
            "example-4c has no bf16 peak: none of any type is known (give --peak)");
}

TEST(Roofs, Units) {
  const Hardware h100 = chip_hardware("h100-sxm");
  EXPECT_EQ(roofs(h100, {.dtype = "bf16"}).peak, 989.4e12);
  EXPECT_EQ(roofs(h100, {.dtype = "bf16", .exec_unit = "cuda-core"}).peak, 133.8e12);
  // A dot product is not held against the matrix unit's ridge.
  EXPECT_EQ(roofs(h100, {.dtype = "bf16", .vector_unit = true}).peak, 133.8e12);
  EXPECT_EQ(roofs(h100, {.dtype = "s8", .vector_unit = true}).dtype, "bf16");
  const Roofs mxu = roofs(chip_hardware("tpu-v5e"), {.dtype = "bf16", .vector_unit = true});
  EXPECT_EQ(mxu.peak, 197e12);
  EXPECT_EQ(mxu.notes.size(), 1u);
  EXPECT_NE(message([&] {
              roofs(h100, {.dtype = "bf16", .exec_unit = "mxu"});
            }).find("h100-sxm has no bf16 peak on unit 'mxu'"),
            std::string::npos);
}

TEST(Roofs, GivenOnesReplace) {
  const Roofs given = roofs({}, {.dtype = "bf16"}, 1e15, 3.35e12);
  EXPECT_EQ(given.peak, 1e15);
  EXPECT_EQ(given.bandwidth, 3.35e12);
  EXPECT_EQ(roofs(chip_hardware("tpu-v5e"), {.dtype = "f64"}, 1e12).bandwidth, 8.19e11);
}

}  // namespace
}  // namespace roofline::predict
