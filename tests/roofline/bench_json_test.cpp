#include "roofline/results/bench_json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"

namespace roofline {
namespace {

const RowDefaults kCpuF32 = {.device = "cpu", .dtype = "f32", .exec_unit = "", .level = ""};

std::string file(const std::string& rows, const std::string& context = "{}") {
  return "{\"context\": " + context + ",\n\"benchmarks\": [" + rows + "]}";
}

/// A row that is right; `more` is added to its fields, and a field given twice counts as last.
std::string row(const std::string& more = "", const std::string& name = "BM_x") {
  return "{\"name\": \"" + name +
         "\", \"run_type\": \"iteration\", \"threads\": 1, \"iterations\": 10, \"real_time\": 5.0, "
         "\"cpu_time\": 5.0, \"time_unit\": \"ns\", \"flops\": 100.0, \"bytes\": 50.0" +
         (more.empty() ? "" : ", " + more) + "}";
}

std::string fault(const std::string& text, const RowDefaults& defaults = kCpuF32) {
  try {
    parse_bench_json(text, "x.json", defaults);
  } catch (const BadInput& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    return what;
  }
  return "";
}

Benchmark only(const std::string& text, const RowDefaults& defaults = kCpuF32) {
  const BenchData data = parse_bench_json(text, "x.json", defaults);
  EXPECT_EQ(data.benchmarks.size(), 1u);
  return data.benchmarks.at(0);
}

TEST(BenchJson, TellsOnWhichMachineAndGpuItRan) {
  const BenchData data = parse_bench_json(
      R"({"context": {"machine": "some-cpu-16c", "gpu": "NVIDIA H200"}, "benchmarks": []})",
      "x.json", {});
  EXPECT_EQ(data.machine, "some-cpu-16c");
  EXPECT_EQ(data.gpu, "nvidia-h200") << "as ceilings.csv has it";
}

TEST(BenchJson, OurOwnName) {
  const Benchmark b = only(
      file(row(
          R"("label": "device=gpu;exec_unit=wgmma;roof_dtype=bf16;library=cuBLASLt 13;", )"
          R"("bytes_L2": 70.0, "bytes_HBM": 60.0, "clock_hz": 1.8e9, "power_w": 500, "memory_clock_hz": 2.6e9)",
          "matmul/cublaslt/bf16xs8/M:64/N:32/K:16/temp:cold/threads:1/manual_time")),
      {});
  EXPECT_EQ(b.name, "matmul/cublaslt/bf16xs8/M:64/N:32/K:16/temp:cold/threads:1");
  EXPECT_EQ(b.kernel, "matmul");
  EXPECT_EQ(b.variant, "cublaslt");
  EXPECT_EQ(b.dtype, "bf16xs8");
  EXPECT_EQ(b.shape, "M:64/N:32/K:16");
  EXPECT_EQ(b.temperature, "cold");
  EXPECT_EQ(b.threads, 1);
  EXPECT_EQ(b.device, "gpu");
  EXPECT_EQ(b.exec_unit, "wgmma");
  EXPECT_EQ(b.roof_dtype, "bf16");
  EXPECT_EQ(b.library, "cuBLASLt 13");
  EXPECT_EQ(b.clock_hz, 1.8e9);
  EXPECT_EQ(b.power_w, 500);
  EXPECT_EQ(b.memory_clock_hz, 2.6e9);
  ASSERT_EQ(b.level_bytes.size(), 2u);
  EXPECT_EQ(b.level_bytes[0], (std::pair<std::string, double>("L2", 70)));
  EXPECT_EQ(b.level_bytes[1], (std::pair<std::string, double>("HBM", 60)));
  EXPECT_DOUBLE_EQ(b.times_s.at(0), 5e-9);
}

TEST(BenchJson, WhatCountersSawStandsBesideTheModel) {
  const Benchmark b = only(file(row(R"("bytes_HBM": 60.0, "counted_flops": 99.0, )"
                                    R"("counted_bytes_L2": 80.0, "counted_bytes_HBM": 61.0)")));
  EXPECT_EQ(b.counted_flops, 99);
  using Level = std::pair<std::string, double>;
  EXPECT_EQ(b.counted_bytes, (std::vector{Level("L2", 80), Level("HBM", 61)}));
  EXPECT_EQ(b.level_bytes, (std::vector{Level("HBM", 60)}));
  EXPECT_EQ(b.not_counted, "");
  const Benchmark refused = only(file(row(R"("label": "device=gpu;counters=CUPTI: no;")")));
  EXPECT_EQ(refused.not_counted, "CUPTI: no");
  EXPECT_TRUE(refused.counted_bytes.empty());
  EXPECT_TRUE(std::isnan(refused.counted_flops));
  EXPECT_EQ(fault(file(row(R"("counted_bytes_L2": NaN)"))),
            "x.json: benchmarks[0] 'BM_x': counter 'counted_bytes_L2' is not a finite number >= 0");
}

TEST(BenchJson, AUsersOwnName) {
  const Benchmark b = only(file(row("", "BM_Gemm<int, 4>/fp32/1024/threads:4/real_time")),
                           {.device = "cpu", .dtype = "", .exec_unit = "simd-avx2", .level = ""});
  EXPECT_EQ(b.kernel, "BM_Gemm<int, 4>");
  EXPECT_EQ(b.variant, "");
  EXPECT_EQ(b.shape, "1024");
  EXPECT_EQ(b.dtype, "f32");
  EXPECT_EQ(b.threads, 4);
  EXPECT_EQ(b.exec_unit, "simd-avx2");
  EXPECT_EQ(b.roof_dtype, "f32");
}

TEST(BenchJson, ArgumentsOfAUsersNameAreTheShape) {
  const auto of = [](const std::string& name) {
    const Benchmark b = only(file(row("", name)));
    return b.kernel + "|" + b.shape + "|" + b.temperature;
  };
  EXPECT_EQ(of("saxpy"), "saxpy||");
  EXPECT_EQ(of("saxpy/1024/real_time"), "saxpy|1024|");
  EXPECT_EQ(of("Fixture/Case/-8/n:3/manual_time"), "Fixture/Case|-8/n:3|");
  EXPECT_EQ(of("copy/temp:cold/size:64/threads:2"), "copy|size:64|cold");
  EXPECT_EQ(of("saxpy/64/real_time/threads:1"), "saxpy|64|");
  EXPECT_EQ(of("f32/512"), "f32|512|");
  EXPECT_EQ(of("512"), "512|512|");
}

TEST(BenchJson, AVariantIsNoNumberAndNoDtype) {
  const auto of = [](const std::string& name) {
    const Benchmark b = only(file(row("", name)));
    return b.kernel + "|" + b.variant + "|" + b.dtype + "|" + b.shape;
  };
  EXPECT_EQ(of("saxpy/avx2/f64/N:8"), "saxpy|avx2|f64|N:8");
  EXPECT_EQ(of("saxpy/1024/f64"), "saxpy||f64|1024");
  EXPECT_EQ(of("convert/f64/bf16"), "convert||bf16|");
}

TEST(BenchJson, RowsWithoutCountersAreSkippedBesideOthers) {
  const std::string plain = R"({"name": "BM_plain/8", "real_time": 5, "time_unit": "ns"})";
  const BenchData data =
      parse_bench_json(file(plain + "," + row() + "," + plain), "x.json", kCpuF32);
  ASSERT_EQ(data.benchmarks.size(), 1u);
  EXPECT_EQ(data.benchmarks[0].name, "BM_x");
  ASSERT_EQ(data.skipped.size(), 1u);
  EXPECT_EQ(data.skipped[0].name, "BM_plain/8");
  EXPECT_EQ(data.skipped[0].reason, "no counters 'flops' and 'bytes'");
  EXPECT_EQ(fault(file(plain)),
            "x.json: benchmarks[0] 'BM_plain/8': no counter 'flops': set it per iteration, "
            "state.counters[\"flops\"] = …");
}

TEST(BenchJson, OneBenchmarkInTwoFilesIsRefused) {
  const auto folder = std::filesystem::temp_directory_path() / "roofline_two_files";
  std::filesystem::create_directories(folder);
  const std::vector<std::filesystem::path> files = {folder / "a.json", folder / "b.json"};
  for (const auto& path : files) write_atomically(path, file(row()));
  try {
    read_bench_json(files, kCpuF32);
    ADD_FAILURE();
  } catch (const BadInput& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("b.json: benchmarks[0] 'BM_x': is in "), std::string::npos) << what;
    EXPECT_NE(what.find("a.json too"), std::string::npos) << what;
  }
  std::filesystem::remove_all(folder);
}

TEST(BenchJson, FilesOfTwoMachinesOrOneFileTwiceAreRefused) {
  const auto folder = std::filesystem::temp_directory_path() / "roofline_two_machines";
  std::filesystem::create_directories(folder);
  const auto a = folder / "a.json", b = folder / "b.json";
  write_atomically(a,
                   file(row("", "BM_a"), R"({"machine": "box-a", "microarchitecture": "zen4"})"));
  write_atomically(b, file(row("", "BM_b"), R"({"machine": "box-b"})"));
  const auto fault_of = [](const std::vector<std::filesystem::path>& files) {
    try {
      read_bench_json(files, kCpuF32);
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault_of({a, b}),
            b.string() + ": ran on box-b, " + a.string() + " on box-a: one machine at a time");
  EXPECT_EQ(fault_of({a, folder / "." / "a.json"}),
            (folder / "." / "a.json").string() + ": given twice: its samples would count double");
  write_atomically(b, file(row("", "BM_b")));  // a user's own
  EXPECT_EQ(fault_of({a, b}), "");
  EXPECT_EQ(read_bench_json(std::vector{a, b}, kCpuF32).microarchitecture, "zen4");
  std::filesystem::remove_all(folder);
}

TEST(BenchJson, AGpusKernelIsInL2IfHalfOfItHoldsTheSet) {
  const auto level = [](const std::string& fields, const std::string& context,
                        const RowDefaults& defaults = kCpuF32,
                        const std::string& name = "saxpy/8") {
    return only(file(row(R"("label": "device=gpu;")" + fields, name), context), defaults)
        .level_bytes.at(0)
        .first;
  };
  const std::string l2 = R"({"gpu_l2_bytes": "52428800"})";
  EXPECT_EQ(level(R"(, "working_set_bytes": 26214400)", l2), "L2");
  EXPECT_EQ(level(R"(, "working_set_bytes": 26214401)", l2), "HBM");
  EXPECT_EQ(level("", l2), "HBM");
  EXPECT_EQ(level(R"(, "working_set_bytes": 1e6)", "{}"), "HBM");
  EXPECT_EQ(level(R"(, "working_set_bytes": 1e6)", l2, kCpuF32, "saxpy/8/temp:cold"), "HBM");
  RowDefaults told = kCpuF32;
  told.gpu_l2_bytes = 2e6;
  EXPECT_EQ(level(R"(, "working_set_bytes": 1e6)", "{}", told), "L2");
  // The file that tells may come after the row's.
  const auto folder = std::filesystem::temp_directory_path() / "roofline_gpu_l2";
  std::filesystem::create_directories(folder);
  const std::vector<std::filesystem::path> files = {folder / "a.json", folder / "b.json"};
  write_atomically(files[0], file(row(R"("label": "device=gpu;", "working_set_bytes": 1e6)")));
  write_atomically(files[1], file(row("", "BM_b"), l2));
  EXPECT_EQ(read_bench_json(files, kCpuF32).benchmarks.at(0).level_bytes.at(0).first, "L2");
  std::filesystem::remove_all(folder);
}

TEST(BenchJson, SamplesOfOneBenchmarkSayTheSame) {
  const auto fault_of = [](const std::string& more) {
    return fault(file(row(R"("working_set_bytes": 8, "bytes_L2": 5, "label": "threads=1")") + "," +
                      row(more)));
  };
  const std::string at = "x.json: benchmarks[1] 'BM_x': samples of one benchmark disagree in ";
  const std::string rest = R"("working_set_bytes": 8, "bytes_L2": 5)";
  EXPECT_EQ(fault_of(rest + R"(, "label": "threads=1")"), "");
  EXPECT_EQ(fault_of(rest + R"(, "label": "threads=2")"), at + "threads");
  EXPECT_EQ(fault_of(rest + R"(, "label": "dtype=f64")"), at + "dtype");
  EXPECT_EQ(fault_of(rest + R"(, "label": "roof_dtype=f64")"), at + "dtype");
  EXPECT_EQ(fault_of(rest + R"(, "label": "exec_unit=scalar")"), at + "exec_unit");
  EXPECT_EQ(fault_of(R"("working_set_bytes": 9, "bytes_L2": 5, "label": "")"),
            at + "working_set_bytes");
  EXPECT_EQ(fault_of(R"("bytes_L2": 5, "label": "")"), at + "working_set_bytes");
  EXPECT_EQ(fault_of(R"("working_set_bytes": 8, "bytes_L2": 6, "label": "")"),
            at + "the bytes of their levels");
}

TEST(BenchJson, LabelBeatsNameBeatsFlag) {
  const RowDefaults defaults = {.device = "gpu", .dtype = "f64", .exec_unit = "", .level = ""};
  EXPECT_EQ(only(file(row(R"("label": "device=cpu; dtype=int8")", "BM/f32")), defaults).dtype,
            "s8");
  EXPECT_EQ(only(file(row(R"("label": "device=cpu; dtype=int8")", "BM/f32")), defaults).device,
            "cpu");
  EXPECT_EQ(only(file(row("", "BM/f32")), defaults).dtype, "f32");
  EXPECT_EQ(only(file(row("", "BM")), defaults).dtype, "f64");
}

TEST(BenchJson, RepetitionsAreSamplesAndAggregatesAreNot) {
  const Benchmark b =
      only(file(row(R"("real_time": 1)") + "," + row(R"("real_time": 3)") + "," +
                row(R"("real_time": 2, "clock_hz": 3e9)") +
                R"(,{"name": "BM_x_mean", "run_type": "aggregate", "real_time": 9})"));
  EXPECT_EQ(b.times_s, (std::vector<double>{1 * 1e-9, 3 * 1e-9, 2 * 1e-9}));
  EXPECT_EQ(b.clock_hz, 3e9);  // of the one sample that knows it
}

TEST(BenchJson, ThrottleReasonsAreThoseOfEverySample) {
  const auto sample = [](const std::string& reasons) {
    return row("\"label\": \"device=gpu;throttle=" + reasons + ";\"");
  };
  EXPECT_EQ(only(file(sample("none") + "," + sample("power-cap"))).throttle, "power-cap");
  EXPECT_EQ(only(file(sample("none") + "," + sample("none"))).throttle, "none");
}

TEST(BenchJson, TimeUnits) {
  const struct {
    const char* unit;
    double seconds;
  } units[] = {{"ns", 5e-9}, {"us", 5e-6}, {"ms", 5e-3}, {"s", 5}};
  for (const auto& [unit, seconds] : units) {
    const std::string text = file(row(std::string("\"time_unit\": \"") + unit + "\""));
    EXPECT_DOUBLE_EQ(only(text).times_s.at(0), seconds);
  }
  EXPECT_EQ(fault(file(row(R"("time_unit": "min")"))),
            "x.json: benchmarks[0] 'BM_x': field 'time_unit' is 'min', not ns, us, ms or s");
}

TEST(BenchJson, ErrorRowsAreListed) {
  const BenchData data = parse_bench_json(
      file(row() +
           R"(,{"name": "BM_y/real_time", "error_occurred": true, "error_message": "no AVX"},)"
           R"({"name": "BM_y/real_time", "error_occurred": true, "error_message": "no AVX"})"),
      "x.json", kCpuF32);
  EXPECT_EQ(data.benchmarks.size(), 1u);
  ASSERT_EQ(data.skipped.size(), 1u);
  EXPECT_EQ(data.skipped[0].name, "BM_y");
  EXPECT_EQ(data.skipped[0].reason, "no AVX");
}

TEST(BenchJson, SmsOfTheContext) {
  const auto sms = [](const std::string& context) { return only(file(row(), context)).gpu_sms; };
  EXPECT_EQ(sms(R"({"gpu_sms": "14"})"), 14);
  for (const char* none :
       {"{}", R"({"gpu_sms": "0"})", R"({"gpu_sms": "many"})", R"({"gpu_sms": 7})"})
    EXPECT_TRUE(std::isnan(sms(none))) << none;
}

TEST(BenchJson, LevelOfRowsThatHaveOnlyBytes) {
  const std::string context =
      R"({"caches": [{"type": "Instruction", "level": 1, "size": 32768},
                     {"type": "Unified", "level": 3, "size": 33554432},
                     {"type": "Data", "level": 1, "size": 32768},
                     {"type": "Unified", "level": 2, "size": 524288}]})";
  const auto level = [&](const std::string& more, const std::string& name = "BM_x",
                         RowDefaults defaults = kCpuF32) {
    return only(file(row(more, name), context), defaults).level_bytes.at(0).first;
  };
  EXPECT_EQ(level(""), "DRAM");  // working set unknown
  EXPECT_EQ(level(R"("working_set_bytes": 32768)"), "L1");
  EXPECT_EQ(level(R"("working_set_bytes": 32769)"), "L2");
  EXPECT_EQ(level(R"("working_set_bytes": 131072)", "op/v/f32/temp:warm/threads:4"), "L1");
  EXPECT_EQ(level(R"("working_set_bytes": 30e6)"), "L3");
  EXPECT_EQ(level(R"("working_set_bytes": 34e6)"), "DRAM");
  EXPECT_EQ(level(R"("working_set_bytes": 1000)", "op/v/f32/temp:cold/threads:1"), "DRAM");
  EXPECT_EQ(level(R"("working_set_bytes": 1000, "label": "device=gpu")"), "HBM");
  RowDefaults told = kCpuF32;
  told.level = "L2";
  EXPECT_EQ(level(R"("working_set_bytes": 1000)", "BM_x", told), "L2");
  EXPECT_EQ(level(R"("bytes_L3": 5.0)", "BM_x", told), "L3");  // the row's own word counts
}

TEST(BenchJson, AnL2ThatFourCoresShareCountsOnceForTheFour) {
  // Two logical CPUs a core, eight an L2.
  const std::string context =
      R"({"caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 2},
                     {"type": "Unified", "level": 2, "size": 4194304, "num_sharing": 8},
                     {"type": "Unified", "level": 3, "size": 33554432, "num_sharing": 16}]})";
  const auto level = [&](double set, int threads) {
    const std::string name = "op/v/f32/temp:warm/threads:" + std::to_string(threads);
    const std::string more = "\"working_set_bytes\": " + std::to_string(set);
    return only(file(row(more, name), context), kCpuF32).level_bytes.at(0).first;
  };
  EXPECT_EQ(level(12e6, 4), "L3");
  EXPECT_EQ(level(4e6, 4), "L2");
  EXPECT_EQ(level(8e6, 5), "L2");  // the fifth has another one
  EXPECT_EQ(level(2 * 32768, 2), "L1");
}

TEST(BenchJson, NoBytesIsNoLevel) {
  const Benchmark b = only(file(row(R"("bytes": 0.0)")));
  EXPECT_TRUE(b.level_bytes.empty());
}

TEST(BenchJson, ANanThatNobodyNeedsDoesNoHarm) {
  const Benchmark b = only(file(row(
      R"("other": NaN, "more": -NaN, "most": Infinity, "text": "NaN, Infinity", "clock_hz": NaN)")));
  EXPECT_TRUE(std::isnan(b.clock_hz));
}

TEST(BenchJson, NamesThatHurtSurvive) {
  const Benchmark b = only(file(row("", R"(a,\"b\"\nü)")));
  EXPECT_EQ(b.kernel, "a,\"b\"\nü");
}

TEST(BenchJson, FilesThatAreNone) {
  EXPECT_EQ(fault(""), "x.json: is empty");
  EXPECT_EQ(fault(" \n"), "x.json: is empty");
  EXPECT_EQ(fault("hello"), "x.json:1: not JSON, or cut off, at byte 1 of 5");
  EXPECT_EQ(fault("{\"benchmarks\": [\n{\"name\""),
            "x.json:2: not JSON, or cut off, at byte 24 of 24");
  EXPECT_EQ(fault("[]"), "x.json: no 'benchmarks': not Google Benchmark's JSON output");
  EXPECT_EQ(fault("{}"), "x.json: no 'benchmarks': not Google Benchmark's JSON output");
  EXPECT_EQ(fault("{\"benchmarks\": 3}"), "x.json: 'benchmarks' is number, not an array");
  EXPECT_EQ(fault("{\"benchmarks\": [], \"context\": 3}"),
            "x.json: 'context' is number, not an object");
  EXPECT_EQ(fault(file("7")), "x.json: benchmarks[0] is number, not an object");
  EXPECT_EQ(fault(file("{}")), "x.json: benchmarks[0]: no 'name'");
  EXPECT_EQ(fault(file(R"({"name": "m", "run_type": "aggregate"})")),
            "x.json: only aggregate rows: leave out --benchmark_report_aggregates_only");
}

TEST(BenchJson, LaunchesHaveNoWorkAndACallMayTakeSeveral) {
  const Benchmark empty = only(file(row(R"("label": "device=gpu;", "flops": 0, "bytes": 0)",
                                        "launch/sm80_stream/u64/threads:1")));
  EXPECT_EQ(empty.flops, 0);
  EXPECT_TRUE(empty.level_bytes.empty());
  EXPECT_EQ(empty.launches, 1);
  EXPECT_EQ(only(file(row(R"("launches": 2)"))).launches, 2);
  EXPECT_EQ(only(file(row(R"("launches": 0.015625)"))).launches, 0.015625);
}

TEST(BenchJson, AGpuProbeBetweenTwoLevelsMeasuresNone) {
  const auto levels = [](const std::string& name) {
    return only(file(row(R"("label": "device=gpu;")", name))).level_bytes;
  };
  EXPECT_TRUE(levels("stream/sm80_vector/f32/access:read/size:50331648/threads:1").empty());
  ASSERT_EQ(levels("saxpy/mine/f32/N:8/threads:1").size(), 1u) << "a kernel's are HBM's";
  EXPECT_EQ(levels("saxpy/mine/f32/N:8/threads:1")[0].first, "HBM");
}

TEST(BenchJson, RowsThatAreWrongAreNamed) {
  const std::string at = "x.json: benchmarks[0] 'BM_x': ";
  EXPECT_EQ(fault(file(row(R"("real_time": "5")"))),
            at + "field 'real_time' is string, not a number");
  for (const char* bad : {"0", "-1.0", "NaN", "Infinity", "null"}) {
    EXPECT_EQ(fault(file(row(std::string("\"real_time\": ") + bad))),
              at + "field 'real_time' is not a number above 0");
  }
  for (const char* bad : {"-1.0", "NaN", "Infinity"}) {
    EXPECT_EQ(fault(file(row(std::string("\"flops\": ") + bad))),
              at + "counter 'flops' is not a finite number >= 0");
  }
  EXPECT_EQ(fault(file(row(R"("bytes": [])"))), at + "field 'bytes' is array, not a number");
  EXPECT_EQ(fault(file(row(R"("flops": 0, "bytes": 0)"))),
            at + "counters 'flops' and 'bytes' are both 0");
  EXPECT_EQ(fault(file(row(R"("bytes_L1": -5)"))),
            at + "counter 'bytes_L1' is not a finite number >= 0");
  EXPECT_EQ(fault(file(row(R"("bytes_l2": 5)"))), at + "counter 'bytes_l2' is written 'bytes_L2'");
  EXPECT_EQ(fault(file(row(R"("bytes_per_second": 5)"))), "");
  EXPECT_EQ(fault(file(row(R"("working_set_bytes": -8)"))),
            at + "counter 'working_set_bytes' is below 0");
  EXPECT_TRUE(std::isnan(only(file(row(R"("working_set_bytes": 0)"))).working_set_bytes));
  for (const char* bad : {"two", "0", "-1", "1.5"}) {
    EXPECT_EQ(fault(file(row(std::string(R"("label": "threads=)") + bad + "\""))),
              at + "'threads=" + bad + "' in the label is not a count");
  }
  EXPECT_EQ(fault(file(row(R"("label": 5)"))), at + "field 'label' is number, not a string");
  EXPECT_EQ(fault(file(row(R"("label": "device=tpu")"))),
            at + "device 'tpu' is neither cpu nor gpu");
  EXPECT_EQ(fault(file(row(R"("label": "dtype=f99")"))),
            at + "dtype 'f99' in the label is not known");
  EXPECT_EQ(fault(file(row(R"("threads": 4)"))),
            at + "ran with 4 Google Benchmark threads, which makes flops per iteration ambiguous: "
                 "thread inside the benchmark instead");
  EXPECT_EQ(fault(file(R"({"name": "BM_x", "real_time": 5, "bytes": 1})")),
            at + "no counter 'flops': set it per iteration, state.counters[\"flops\"] = …");
  EXPECT_EQ(fault(file(row() + "," + row(R"("flops": 101)"))),
            "x.json: benchmarks[1] 'BM_x': samples of one benchmark disagree in flops or bytes per "
            "iteration");
  EXPECT_EQ(fault(file(row()), {.device = "cpu"}),
            at + "dtype is not known: put it into the name (…/f32/…) or the label (dtype=f32), or "
                 "give analyze "
                 "--dtype");
  EXPECT_EQ(fault(file(row()), {.device = "", .dtype = "f32", .exec_unit = "", .level = ""}),
            at + "device is not known: put device=cpu or device=gpu into the label, or give "
                 "analyze --device");
  EXPECT_EQ(fault(file(row("", "op/v/f32/threads:0"))),
            "x.json: benchmarks[0] 'op/v/f32/threads:0': 'threads:0' in the name is not a count");
}

TEST(BenchJson, EveryTruncationIsRefusedInOneLine) {
  const std::string whole = file(row(R"("label": "device=cpu")"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(fault(whole.substr(0, length)), "") << length;
  }
  EXPECT_EQ(fault(whole), "");
}

TEST(BenchJson, LaterSamplesMayLeaveOutWhatTheFirstHasSaid) {
  const std::string first =
      R"({"name": "dot/avx2/f32/N:9/threads:1", "real_time": 5, "time_unit": "ns", "flops": 18,
          "bytes": 72, "clock_hz": 3e9, "issue_per_cycle": 2, "own_memory_bytes_per_s": 5e10, "label": "device=cpu;"})";
  const std::string later =
      R"({"name": "dot/avx2/f32/N:9/threads:1", "real_time": 7, "time_unit": "ns", "clock_hz": 2e9})";
  const auto file = [](const std::string& rows) { return R"({"benchmarks": [)" + rows + "]}"; };
  const BenchData data = parse_bench_json(file(first + "," + later), "f");
  ASSERT_EQ(data.benchmarks.size(), 1u);
  const Benchmark& b = data.benchmarks[0];
  ASSERT_EQ(b.times_s.size(), 2u);
  EXPECT_DOUBLE_EQ(b.times_s[0], 5e-9);
  EXPECT_DOUBLE_EQ(b.times_s[1], 7e-9);
  EXPECT_DOUBLE_EQ(b.clock_hz, 2.5e9);
  EXPECT_DOUBLE_EQ(b.beside[0].issue_per_cycle, 2);
  EXPECT_TRUE(std::isnan(b.beside[1].issue_per_cycle));
  EXPECT_DOUBLE_EQ(b.beside[0].own_memory_bytes_per_s, 5e10);
  EXPECT_TRUE(std::isnan(b.beside[1].own_memory_bytes_per_s));
  // A probe beside others is a benchmark of its own.
  const std::string beside = first.substr(0, first.size() - 1) + R"(, "roof_of": "decode"})";
  const BenchData both = parse_bench_json(file(first + "," + beside), "f");
  ASSERT_EQ(both.benchmarks.size(), 2u);
  EXPECT_EQ(both.benchmarks[0].roof_of, "");
  EXPECT_EQ(both.benchmarks[1].roof_of, "decode");
  // Alone it says too little, and so it does for another attempt.
  EXPECT_THROW(parse_bench_json(file(later), "f"), BadInput);
  const std::string again = later.substr(0, later.size() - 1) + R"(, "attempt": 1})";
  EXPECT_THROW(parse_bench_json(file(first + "," + again), "f"), BadInput);
}

}  // namespace
}  // namespace roofline
