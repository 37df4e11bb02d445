// The parts of `roofline run` that need no bench program; the whole is tests/cli/run.sh.
#include "roofline/run/run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <regex>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/base/say.hpp"
#include "roofline/run/progress.hpp"
#include "roofline/run/run_cost.hpp"
#include "roofline/run/run_plan.hpp"
#include "roofline/run/run_results.hpp"
#include "roofline/run/run_turns.hpp"
#include "roofline/run/same_machine.hpp"
#include "roofline/run/trace.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

ListedBenchmark entry(const std::string& program, const std::string& op, const std::string& variant,
                      const std::string& rest, bool library = false,
                      const std::string& missing = "") {
  return {"/bin/" + program,
          op + "/" + variant + "/" + rest,
          op,
          variant,
          "cpu",
          library,
          rest.back() - '0',
          missing};
}

std::vector<ListedBenchmark> listed() {
  return {entry("bench_ceilings", "stream", "avx2", "f32/access:read/size:16384/threads:1"),
          entry("bench_ceilings", "stream", "avx2", "f32/access:copy/size:16384/threads:1"),
          entry("bench_ceilings", "stream", "avx2", "f32/access:read/size:16384/threads:4"),
          entry("bench_matmul", "matmul", "naive", "f32/M:64/temp:warm/threads:1"),
          entry("bench_matmul", "matmul", "avx2", "f32/M:64/temp:warm/threads:1"),
          entry("bench_matmul", "matmul", "openblas", "f32/M:64/temp:warm/threads:1", true),
          entry("bench_matmul", "matmul", "blis", "f32/M:64/temp:warm/threads:1", true),
          entry("bench_matmul", "matmul", "avx512", "f32/M:64/temp:warm/threads:1", false,
                "no AVX-512"),
          entry("bench_matmul", "matmul", "avx2", "f32/M:64/temp:cold/threads:1")};
}

TEST(RunPlan, OneProcessForOursAndOnePerLibrary) {
  const Plan plan = make_plan(listed(), "", false);
  ASSERT_EQ(plan.groups.size(), 4u);
  EXPECT_EQ(plan.groups[0].name, "stream_threads-1");
  ASSERT_EQ(plan.groups[0].units.size(), 1u);
  EXPECT_EQ(plan.groups[0].benchmarks(), 2u);
  EXPECT_EQ(plan.groups[1].name, "stream_threads-4");
  EXPECT_EQ(plan.groups[2].name, "matmul_f32_M-64_temp-warm_threads-1");
  ASSERT_EQ(plan.groups[2].units.size(), 3u);
  EXPECT_EQ(plan.groups[2].units[0].names,
            (std::vector<std::string>{"matmul/naive/f32/M:64/temp:warm/threads:1",
                                      "matmul/avx2/f32/M:64/temp:warm/threads:1"}));
  EXPECT_EQ(plan.groups[2].units[1].library, "openblas");
  EXPECT_EQ(plan.groups[2].units[2].library, "blis");
  EXPECT_FALSE(plan.groups[2].large);
  EXPECT_EQ(plan.groups[3].name, "matmul_f32_M-64_temp-cold_threads-1");
  EXPECT_TRUE(plan.groups[3].large);
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].reason, "no AVX-512");
}

TEST(RunPlan, ADecodeStepHasItsRoofsBesideIt) {
  auto all = listed();
  const auto peak = [](const char* variant, const char* rest, const char* missing = "") {
    return entry("bench_ceilings", "fma_peak", variant, rest, false, missing);
  };
  for (const char* rest :
       {"f32/threads:4", "f64/threads:4", "bf16/threads:4", "s8/threads:4", "f32/threads:1"})
    all.push_back(peak("avx2", rest));
  all.push_back(peak("avx512", "f32/threads:4", "no AVX-512"));
  all.push_back(entry("bench_decode", "decode", "avx2", "bf16/B:1/threads:4"));
  const Plan plan = make_plan(all, "", false);
  const Group& group = plan.groups.back();
  ASSERT_EQ(group.units.size(), 2u);
  EXPECT_FALSE(group.units[0].roof);
  EXPECT_TRUE(group.units[1].roof);
  EXPECT_EQ(group.units[1].names, (std::vector<std::string>{"fma_peak/avx2/f32/threads:4",
                                                            "fma_peak/avx2/bf16/threads:4"}));
  // In a full run also products.
  ASSERT_EQ(plan.groups[3].name, "matmul_f32_M-64_temp-cold_threads-1");
  EXPECT_EQ(plan.groups[3].units.size(), 1u);
  const Plan full = make_plan(all, "", true);
  ASSERT_EQ(full.groups[3].units.size(), 2u);
  EXPECT_EQ(full.groups[3].units[1].names, std::vector<std::string>{"fma_peak/avx2/f32/threads:1"});
  // What measures a ceiling again leaves it alone.
  EXPECT_EQ(units_of(plan, {group.units[1].names[0]}).size(), 1u);
}

TEST(RunPlan, ALibraryThatDoesNotKnowTheCpuIsMeasuredAsInstalledAndAsTuned) {
  auto all = listed();
  all[5].tuned = "OPENBLAS_CORETYPE=SkylakeX";
  const Group group = make_plan(all, "", false).groups[2];
  ASSERT_EQ(group.units.size(), 4u);
  EXPECT_EQ(group.units[1].names,
            std::vector<std::string>{"matmul/openblas/f32/M:64/temp:warm/threads:1"});
  EXPECT_EQ(group.units[1].tuned, "");
  EXPECT_EQ(group.units[2].names,
            std::vector<std::string>{"matmul/openblas_tuned/f32/M:64/temp:warm/threads:1"});
  EXPECT_EQ(group.units[2].tuned, "OPENBLAS_CORETYPE=SkylakeX");
  EXPECT_EQ(group.units[2].library, "openblas");
  EXPECT_EQ(tuned_name("dot/blis"), "dot/blis_tuned");
}

TEST(RunPlan, PeaksUnderLoadAreGroupsOfTheirOwn) {
  std::vector<ListedBenchmark> all;
  for (const char* keys :
       {"bf16/data:random/threads:1", "bf16/data:zeros/hold:burst/threads:1",
        "bf16/data:random/hold:sustained/threads:1", "s8/data:random/hold:sustained/threads:1"}) {
    all.push_back(entry("bench_ceilings", "fma_peak", "mma", keys));
  }
  const Plan plan = make_plan(all, "", false);
  ASSERT_EQ(plan.groups.size(), 3u);
  EXPECT_EQ(plan.groups[1].name, "fma-peak_threads-1_hold-burst");
  EXPECT_EQ(plan.groups[2].name, "fma-peak_threads-1_hold-sustained");
  EXPECT_EQ(plan.groups[2].benchmarks(), 2u);
}

TEST(RunPlan, AProgramOfOnesOwnIsOneGroupAfterOurs) {
  auto all = listed();
  for (const char* name : {"mine/64", "matmul/mine/f32/M:64"}) {
    all.push_back({.program = "/home/x/bench_ceilings", .name = name, .own = true});
  }
  const Plan plan = make_plan(all, "", false);
  ASSERT_EQ(plan.groups.size(), 5u);
  EXPECT_EQ(plan.groups[4].name, "own-bench-ceilings");
  ASSERT_EQ(plan.groups[4].units.size(), 1u);
  EXPECT_TRUE(plan.groups[4].units[0].own);
  EXPECT_EQ(plan.groups[4].units[0].names,
            (std::vector<std::string>{"mine/64", "matmul/mine/f32/M:64"}));
  EXPECT_FALSE(plan.groups[3].units[0].own);
  all.push_back({.program = "/home/x/other", .name = "mine/64", .own = true});
  EXPECT_THROW(make_plan(all, "", false), BadInput);
}

TEST(RunPlan, ADeviceWithoutARowIsNamed) {
  auto all = listed();
  all.push_back(entry("bench_matmul", "matmul", "sm80", "f32/M:64/threads:1"));
  all.back().device = "gpu";
  const Plan plan = make_plan(all, "", false);
  std::vector<Benchmark> rows(1);
  rows[0].device = "cpu";
  EXPECT_EQ(devices_without_rows(plan, rows), std::vector<std::string>{"gpu"});
  EXPECT_EQ(devices_without_rows(plan, {}), (std::vector<std::string>{"cpu", "gpu"}));
  EXPECT_TRUE(devices_without_rows(make_plan(listed(), "", false), rows).empty());
}

TEST(RunPlan, ProcessesTakeTurnsWhereAllOfThemFit) {
  Group group{"", false, std::vector<Unit>(2)};
  EXPECT_TRUE(fit_together(group, {3e9, {}}));
  EXPECT_EQ(why_apart(group, {3e9, {}}), "");
  EXPECT_FALSE(fit_together(group, {2.9e9, {}}));
  EXPECT_EQ(why_apart(group, {2.9e9, {}}),
            "2 programs may need 3.00 GB of memory, 2.90 GB are free");
  // A library's two benchmarks, and of our own as many as are kept.
  group.large = true;
  group.units[0].names.resize(2);
  group.units[1].names.resize(7);
  EXPECT_TRUE(fit_together(group, {11e9, {}, 2e9}));
  EXPECT_FALSE(fit_together(group, {10.9e9, {}, 2e9}));
  group.units[1].roof = true;
  EXPECT_TRUE(fit_together(group, {1.5e9, {}}));
}

TEST(RunPlan, WhatABrokenProcessWasSplitIntoStartsTogetherOnlyWhereItFits) {
  const Group group{"", false, std::vector<Unit>(2)};
  const std::vector<Unit> split(3);
  EXPECT_EQ(started_together(group, group.units, {3e9, {}}), 2u);
  EXPECT_EQ(started_together(group, split, {3e9, {}}), 1u);
  EXPECT_EQ(started_together(group, split, {4.5e9, {}}), 3u);
  // One after the other from the start on: so they stay.
  EXPECT_EQ(started_together(group, std::vector<Unit>(1), {2.5e9, {}}), 1u);
}

TEST(RunPlan, OnAGpuItsOwnMemoryCountsAndOneProcessIsOne) {
  Group group{"", false, std::vector<Unit>(2)};
  for (Unit& unit : group.units) unit.gpu = true;
  EXPECT_TRUE(fit_together(group, {1e9, {.free_bytes = 12e9}}));
  EXPECT_EQ(why_apart(group, {1e12, {.free_bytes = 11.9e9}}),
            "2 programs may need 12.0 GB of the GPU's memory, 11.9 GB are free");
  EXPECT_EQ(why_apart(group, {1e12, {}}), "the GPU's free memory is not known");
  EXPECT_EQ(why_apart(group, {1e12, {.free_bytes = 80e9, .one_process = true}}),
            "the GPU takes one process");
}

TEST(RunPlan, ACeilingsGroupOfBothDevicesHasToFitBoth) {
  Group group{"again-1", false, std::vector<Unit>(2)};
  group.units[0].gpu = true;
  EXPECT_TRUE(fit_together(group, {1.5e9, {}}));  // one process on each
  EXPECT_FALSE(fit_together(group, {1.4e9, {.free_bytes = 80e9}}));
}

// Hand-worked: 0.3 s a process and 1.7 times the samples on a CPU; on a GPU 1 s a process, 0.4 s
// and 35 ms a sample, or the ten seconds of load that a sustained peak has before its first sample.
TEST(RunCost, LoadsBeforeSamplesAreMostOfItOnAGpu) {
  Unit unit{.names = {"dot/a/f32/threads:1", "dot/b/f32/threads:1"}};
  EXPECT_NEAR(expected_s(unit, {.rounds = 3, .samples = 9, .sample_s = 0.01}), 0.9 + 0.306, 1e-9);
  EXPECT_EQ(counting_s(unit), 0);
  unit.gpu = true;
  EXPECT_NEAR(expected_s(unit, {.rounds = 1, .samples = 9}), 1 + 2 * 0.715, 1e-9);
  EXPECT_NEAR(expected_s(unit, {.rounds = 3, .samples = 9}), 3 + 2 * 1.515, 1e-9);
  EXPECT_NEAR(counting_s(unit), 1 + 2 * 0.435, 1e-9);
  unit.names = {"fma_peak/mma/bf16/data:random/hold:sustained/threads:1"};
  EXPECT_NEAR(expected_s(unit, {.rounds = 1, .samples = 9}), 1 + 12.5 + 10.35, 1e-9);
  unit.names = {"fma_peak/mma/bf16/data:zeros/hold:burst/threads:1"};
  EXPECT_NEAR(expected_s(unit, {.rounds = 1, .samples = 9}), 1 + 1.4 + 3.42, 1e-9);
}

TEST(Progress, ASlowStartMovesTheTimeLeftByLittle) {
  const auto at_start = [](double total, double done, double took) {
    return time_left(total, done, took, done, 0);
  };
  EXPECT_DOUBLE_EQ(at_start(100, 0, 0), 100);
  EXPECT_DOUBLE_EQ(at_start(100, 5, 25), 95.0 * 75 / 55);  // five times as slow so far
  EXPECT_DOUBLE_EQ(at_start(100, 50, 100), 75);
  EXPECT_DOUBLE_EQ(at_start(100, 50, 25), 37.5);
  EXPECT_DOUBLE_EQ(at_start(100, 100, 300), 0);
  EXPECT_DOUBLE_EQ(at_start(100, 120, 300), 0);
  EXPECT_DOUBLE_EQ(at_start(0, 0, 5), 0);
}

TEST(Progress, WhatRunsLongerThanExpectedDoesNotAddToTheTimeLeft) {
  EXPECT_DOUBLE_EQ(time_left(100, 0, 0, 20, 5), 95);
  EXPECT_DOUBLE_EQ(time_left(100, 0, 0, 20, 20), 80);
  EXPECT_DOUBLE_EQ(time_left(100, 0, 0, 20, 60), 80);
  EXPECT_DOUBLE_EQ(time_left(100, 50, 100, 60, 3), 72);  // at half the pace
}

// Hand-worked: 1.5 ns for each byte that a process makes; 13 calls, 4 of them before the samples,
// by 25 GB/s or 100 GFLOP/s a core in f32, 150 in 16 bits; 4 ns a parameter of a step.
TEST(RunCost, MakingDataAndLongCallsAreMostOfItOnACpu) {
  Sampling sampling{.rounds = 1, .samples = 9, .sample_s = 0.01, .cold_bytes = 2e9};
  const double own = 0.3 + 9 * 0.01 * 1.7;
  const auto of = [&](std::vector<std::string> names) {
    return expected_s({.names = std::move(names)}, sampling);
  };
  EXPECT_NEAR(of({"dot/a/f32/N:8/temp:warm/threads:1"}), own, 1e-6);
  EXPECT_NEAR(of({"stream/a/f32/access:read/size:8/threads:1"}), own + 3, 1e-6);
  EXPECT_NEAR(of({"pages/a/f32/page_bytes:2048/size:8/threads:1",
                  "pages/b/f32/page_bytes:2048/size:8/threads:1",
                  "pages/a/f32/page_bytes:4096/size:8/threads:1"}),
              own + 3 + 3 + 2 * 0.153, 1e-6)
      << "a set for each size of page";
  EXPECT_NEAR(of({"dot/a/f32/N:8/temp:cold/threads:1", "dot/b/f32/N:8/temp:cold/threads:1"}),
              own + 3 + 0.153, 1e-6);
  // 2e9 and 64 MB of weights; 64 MB over 25 GB/s.
  EXPECT_NEAR(of({"matmul/a/f32/M:1/N:4000/K:4000/temp:cold/threads:2"}),
              own + 2.064e9 * 1.5e-9 + 13 * 64e6 / 25e9, 1e-6);
  sampling.cold_bytes = 1e6;  // 1 GiB of weights all the same
  EXPECT_NEAR(of({"matmul/a/bf16xs8/M:1/N:4000/K:4000/temp:cold/threads:2"}),
              own + (1073741824 + 16e6) * 1.5e-9 + 13 * 16e6 / 25e9, 1e-6);
  // 1.28e11 FLOP on two cores.
  EXPECT_NEAR(of({"matmul/a/f32/M:4000/N:4000/K:4000/temp:warm/threads:2"}),
              own + 13 * 1.28e11 / 200e9, 1e-6);
  // 2 x 2 x 1000 x 8 x 128 x 2 bytes.
  EXPECT_NEAR(of({"attention/a/bf16/batch:2/context:1000/heads:8/kv_heads:8/head_dim:128/temp:cold/"
                  "threads:1"}),
              own + (1e6 + 8.192e6) * 1.5e-9 + 13 * 8.192e6 / 25e9, 1e-6);
  EXPECT_NEAR(of({"decode/a/bf16/B:1/T:64/layers:2/kv:s8/threads:2"}),
              own + 436e6 * 4e-9 + 13 * 872e6 / 25e9, 1e-6);
  EXPECT_NEAR(expected_s({.names = {"dot/a/f32/N:8/temp:cold/threads:1"}},
                         {.rounds = 3, .samples = 9, .sample_s = 0.01, .cold_bytes = 2e9}),
              3 * (0.3 + 3) + 9 * 0.01 * 1.7, 1e-6);
}

TEST(RunCost, SamplesFillTheBudget) {
  const double sample = sample_within(24, 100, 20, 9);
  EXPECT_NEAR(20 * 0.3 + 100 * 9 * sample * 1.7, 24, 1e-9);
  EXPECT_LT(sample_within(5, 100, 20, 9), 0);
}

TEST(RunPlan, FilterKeepsTheCeilingsUnlessItNamesSome) {
  const auto names = [](const std::string& filter) {
    std::vector<std::string> out;
    for (const Group& group : make_plan(listed(), filter, false).groups) out.push_back(group.name);
    return out;
  };
  EXPECT_EQ(names("cold"), (std::vector<std::string>{"stream_threads-1", "stream_threads-4",
                                                     "matmul_f32_M-64_temp-cold_threads-1"}));
  EXPECT_EQ(names("^stream.*read.*threads:4"), (std::vector<std::string>{"stream_threads-4"}));
  EXPECT_THROW(names("nothing like it"), BadInput);
  EXPECT_THROW(names("matmul("), BadInput);
}

TEST(RunPlan, FilterForTheProgramIsExact) {
  const std::regex filter(exact_filter({"op/a.b/f32/n:1/threads:1", "op/c+d/f32/threads:1"}));
  const auto matches = [&](const std::string& name) { return std::regex_search(name, filter); };
  EXPECT_TRUE(matches("op/a.b/f32/n:1/threads:1"));
  EXPECT_TRUE(matches("op/a.b/f32/n:1/threads:1/real_time"));
  EXPECT_TRUE(matches("op/a.b/f32/n:1/threads:1/repeats:3/manual_time"));
  EXPECT_TRUE(matches("op/c+d/f32/threads:1/real_time"));
  EXPECT_TRUE(matches("op/c+d/f32/threads:1/min_time:0.500/min_warmup_time:1.000"));
  EXPECT_FALSE(matches("op/a.b/f32/n:1/threads:16/real_time"));
  EXPECT_FALSE(matches("op/axb/f32/n:1/threads:1/real_time"));
  EXPECT_FALSE(matches("x/op/a.b/f32/n:1/threads:1"));
}

TEST(RunPlan, ListsAreChecked) {
  const std::string good =
      R"([{"name": "a/b/f32/threads:1", "op": "a", "variant": "b", "dtype": "f32", "device": "cpu",)"
      R"( "library": false, "threads": 1, "quick": true, "needs_missing": ""}])";
  EXPECT_EQ(parse_list(good, "/x/bench_a").at(0).op, "a");
  EXPECT_THROW(parse_list("", "/x/bench_a"), BadInput);
  EXPECT_THROW(parse_list("[{}]", "/x/bench_a"), BadInput);
  EXPECT_THROW(parse_list("[1]", "/x/bench_a"), BadInput);
  EXPECT_THROW(parse_list(R"([{"name": 3}])", "/x/bench_a"), BadInput);
}

TEST(RunPlan, AFolderWithoutProgramsIsRefused) {
  EXPECT_THROW(find_programs("/nowhere"), BadInput);
  EXPECT_THROW(find_programs(fs::temp_directory_path() / "roofline_none"), BadInput);
}

Outcome shell(const std::string& script, double timeout_s = 30) {
  return run_process({{"/bin/sh", "-c", script}, {{"ROOFLINE_X", "from parent"}}, timeout_s, true});
}

TEST(Process, TellsHowItEnded) {
  SignalGuard guard;
  const Outcome good = shell("echo \"$ROOFLINE_X\"; echo oops >&2");
  EXPECT_TRUE(good.clean());
  EXPECT_EQ(good.output, "from parent\n");
  EXPECT_EQ(good.error_text, "oops\n");
  EXPECT_EQ(shell("echo first >&2; echo last >&2; exit 3").words(1), "exit code 3: last");
  EXPECT_EQ(shell("kill -SEGV $$").words(1), "killed by SIGSEGV");
  EXPECT_EQ(shell("kill -ILL $$").words(1),
            "killed by SIGILL (an instruction that this CPU lacks)");
  EXPECT_EQ(shell("printf 'a\\001\\377b' >&2; exit 1").words(1), "exit code 1: a??b");
  EXPECT_EQ(run_process({{"/no/such/program"}, {}, 5, false}).exit_code, 127);
}

TEST(Process, LeavesOutWhatTheShellSaysOfOpenMP) {
  for (const char* name : {"OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "ROOFLINE_Y"})
    ::setenv(name, "as set", 1);
  const Outcome out =
      shell("echo \"$OMP_PROC_BIND,$GOMP_CPU_AFFINITY,$KMP_AFFINITY,$ROOFLINE_Y,$ROOFLINE_X\"");
  EXPECT_EQ(out.output, ",,,as set,from parent\n");
  const Outcome own = run_process({.arguments = {"/bin/sh", "-c", "echo \"$OMP_PROC_BIND\""},
                                   .keep_output = true,
                                   .own = true});
  EXPECT_EQ(own.output, "as set\n");
  for (const char* name : {"OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "ROOFLINE_Y"})
    ::unsetenv(name);
}

TEST(Process, TellsHowItEndedWhereTheParentIgnoresItsChildren) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    SignalGuard guard;
    const Outcome out = shell("exit 3");
    EXPECT_EQ(out.words(1), "exit code 3");
    EXPECT_LT(out.seconds, 5);
  }
  EXPECT_EQ(::signal(SIGCHLD, before), SIG_IGN) << "the old action is not back";
}

TEST(Process, OneThatNobodyCanAskIsNotClean) {
  SignalGuard guard;
  ::signal(SIGCHLD, SIG_IGN);
  const Outcome out = shell("exit 0", 3);
  EXPECT_FALSE(out.clean());
  EXPECT_EQ(out.words(3), "ended, nobody knows how");
}

TEST(Say, APipeThatNobodyReadsEndsNothing) {
  const pid_t run = ::fork();
  if (run == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(2);
    ::close(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    say("{}\n", "lost");
    say("{}\n", "lost too");
    ::raise(SIGPIPE);  // one that is not say()'s
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGPIPE);
}

/// A file of this test's own, not there yet, and gone after it.
class OwnFile : public fs::path {
 public:
  OwnFile()
      : fs::path(fs::temp_directory_path() /
                 fmt::format("roofline_{}_{}",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name(),
                             ::getpid())) {
    fs::remove(*this);
  }
  ~OwnFile() { fs::remove(*this); }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
};

TEST(Process, EndsAHangingFamily) {
  SignalGuard guard;
  const OwnFile file;
  // The grandchild would write after 2 s.
  const Outcome out = shell("(sleep 2; touch " + file.string() + ") & sleep 60", 0.3);
  EXPECT_TRUE(out.timed_out);
  EXPECT_EQ(out.words(0.3), "no end after 0.3 s, killed");
  EXPECT_LT(out.seconds, 5);
  ::sleep(3);
  EXPECT_FALSE(fs::exists(file)) << "a grandchild lived on";
}

TEST(Process, TicksWhileItWaits) {
  SignalGuard guard;
  int ticks = 0;
  run_process({{"/bin/sh", "-c", "sleep 2.5"}, {}, 30, false}, [&] { ++ticks; });
  EXPECT_GE(ticks, 1);
}

TEST(Process, ASlowTickIsNotCountedAgainstIt) {
  SignalGuard guard;
  bool first = true;
  const Outcome out = run_process({{"/bin/sh", "-c", "sleep 6"}, {}, 4, false}, [&] {
    if (first) ::usleep(4'000'000);
    first = false;
  });
  EXPECT_TRUE(out.clean()) << out.words(4);
  EXPECT_LT(out.seconds, 4);
}

TEST(Process, TheTimeForWhichWeAreStoppedIsNotCountedAgainstIt) {
  const pid_t run = ::fork();  // not the test itself, which a shell may be watching
  if (run == 0) {
    SignalGuard guard;
    const Outcome out = shell("kill -STOP $PPID; sleep 3; kill -CONT $PPID; sleep 0.3", 2);
    ::_exit(out.clean() && out.seconds < 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  EXPECT_EQ(status, 0);
}

/// A shell that appends its letter to a file in each of three turns.
Command in_three_turns(char letter, const fs::path& log) {
  const std::string script =
      "for i in 1 2 3; do printf x >&3; dd bs=1 count=1 <&3 >/dev/null 2>&1; printf " +
      std::string(1, letter) + " >>" + log.string() + "; done; echo " + letter;
  return {{"/bin/sh", "-c", script}, {}, 30, true};
}

TEST(Process, WorkInTurns) {
  SignalGuard guard;
  const OwnFile log;
  const auto out = run_in_turns(
      {in_three_turns('a', log),
       {{"/bin/sh", "-c", "exec 3>&-; sleep 0.1; printf -- - >>" + log.string() + "; exit 7"}},
       in_three_turns('b', log)});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(read_text(log), "-ababab");
  EXPECT_EQ(out[0].output, "a\n");
  EXPECT_EQ(out[1].exit_code, 7);
  EXPECT_EQ(out[2].output, "b\n");
}

TEST(Process, IsStoppedBetweenItsTurns) {
  SignalGuard guard;
  const OwnFile log;
  const std::string busy = "(while :; do printf . >>" + log.string() +
                           "; sleep 0.01; done) & sleep 0.1; printf x >&3; "
                           "dd bs=1 count=1 <&3 >/dev/null 2>&1";
  const std::string look =
      "sleep 0.3; wc -c <" + log.string() + "; sleep 0.3; wc -c <" + log.string();
  const auto out = run_in_turns(
      {{{"/bin/sh", "-c", busy}}, {{"/bin/sh", "-c", "sleep 0.1; " + look}, {}, 30, true}});
  const std::string& text = out[1].output;
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.substr(0, text.size() / 2), text.substr(text.size() / 2)) << text;
  EXPECT_EQ(out[0].exit_code, 0);
}

TEST(Process, OneThatUsesUpItsTimeDoesNotCostTheOthersTheirs) {
  SignalGuard guard;
  const OwnFile log;
  const auto out = run_in_turns(
      {in_three_turns('a', log), {{"/bin/sh", "-c", "printf x >&3; sleep 60"}, {}, 0.3}});
  EXPECT_EQ(out[0].output, "a\n");
  EXPECT_EQ(out[1].words(0.3), "no end after 0.3 s, killed");
}

TEST(Process, AnInterruptEndsTheChildAndIsSeen) {
  SignalGuard guard;
  EXPECT_FALSE(guard.interrupted());
  const Outcome out = shell("kill -INT " + std::to_string(::getpid()) + "; sleep 60");
  EXPECT_TRUE(out.interrupted);
  EXPECT_EQ(out.words(1), "interrupted");
  EXPECT_TRUE(guard.interrupted());
}

TEST(Process, AHangupIsAnInterruptUnlessItIsIgnored) {
  const std::string hangup = "kill -HUP " + std::to_string(::getpid()) + "; sleep 0.2";
  ::signal(SIGHUP, SIG_IGN);  // nohup
  {
    SignalGuard guard;
    EXPECT_TRUE(shell(hangup).clean());
    EXPECT_FALSE(guard.interrupted());
  }
  ::signal(SIGHUP, SIG_DFL);
  {
    SignalGuard guard;
    EXPECT_TRUE(shell(hangup + "; sleep 60").interrupted);
  }
  ::raise(SIGHUP);  // from the shell, after the kernel's
  ::signal(SIGHUP, SIG_DFL);
}

TEST(Process, AKilledParentTakesItsChildAlong) {
  const OwnFile file;
  const pid_t parent = ::fork();
  if (parent == 0) {
    SignalGuard guard;
    shell("touch " + file.string() + ".started; sleep 2; touch " + file.string());
    ::_exit(0);
  }
  for (int i = 0; i < 100 && !fs::exists(file.string() + ".started"); ++i) ::usleep(50'000);
  EXPECT_TRUE(fs::exists(file.string() + ".started"));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  ::sleep(3);
  EXPECT_FALSE(fs::exists(file)) << "the child lived on";
  fs::remove(file.string() + ".started");
}

class RunFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("roofline_run_test." + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  static std::string fault(const fs::path& folder) {
    try {
      RunFolder::resume(folder);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }
  fs::path root_;
};

TEST_F(RunFolderTest, FinishedGroupsAndSettingsSurvive) {
  fs::path path;
  {
    RunFolder folder = RunFolder::create(root_, "box", {true, "cpu", "", "a|b"}, "{}");
    path = folder.path();
    EXPECT_TRUE(
        std::regex_match(path.filename().string(), std::regex(R"(\d{4}-\d\d-\d\dT\d{6}Z)")));
    folder.write_state("running", 3);
    folder.finish_group("good", "{}", {});
    folder.finish_group("half", "{}", {{"half", "op/x", "crashed"}});
    folder.finish_group("none", "", {{"none", "op/y", "crashed"}});
    write_atomically(folder.scratch() / "rest", "x");
  }
  EXPECT_FALSE(fs::exists(path / ".part"));
  RunFolder folder = RunFolder::resume(path);
  EXPECT_TRUE(folder.settings().full);
  EXPECT_EQ(folder.settings().device, "cpu");
  EXPECT_EQ(folder.settings().filter, "a|b");
  EXPECT_TRUE(folder.done("good"));
  EXPECT_FALSE(folder.done("half"));  // tried again
  EXPECT_FALSE(folder.done("none"));
  EXPECT_EQ(folder.failures().size(), 2u);
  folder.finish_group("half", "{}", {});
  EXPECT_TRUE(folder.done("half"));
  EXPECT_EQ(folder.failures().size(), 1u);
}

TEST_F(RunFolderTest, KnowsWhetherAnEarlierRunCameToItsEnd) {
  for (const char* status : {"running", "interrupted", "failed", "complete"}) {
    fs::path path;
    {
      RunFolder folder = RunFolder::create(root_, "box", {}, "{}");
      EXPECT_FALSE(folder.ended());
      path = folder.path();
      folder.write_state(status, 0);
    }
    EXPECT_EQ(RunFolder::resume(path).ended(), *status == 'f' || *status == 'c') << status;
    fs::remove_all(path);
  }
}

TEST_F(RunFolderTest, WhatWasSkippedSurvivesAndOnlyPlannedGroupsCount) {
  fs::path path;
  {
    RunFolder folder = RunFolder::create(root_, "box", {}, "{}");
    path = folder.path();
    folder.skipped.push_back({"op/x", "not on this machine"});
    folder.write_state("running", 1);
    folder.finish_group("one", "{}", {});
    folder.finish_group("again-1", "{}", {});
  }
  const auto state = nlohmann::json::parse(read_text(path / "run.json"));
  EXPECT_EQ(state.at("groups_measured"), 1);
  const RunFolder folder = RunFolder::resume(path);
  ASSERT_EQ(folder.skipped.size(), 1u);
  EXPECT_EQ(folder.skipped[0].name, "op/x");
  EXPECT_EQ(folder.skipped[0].reason, "not on this machine");
}

TEST_F(RunFolderTest, NeverTheSameFolderTwice) {
  RunFolder one = RunFolder::create(root_, "box", {}, "{}");
  RunFolder two = RunFolder::create(root_, "box", {}, "{}");
  EXPECT_NE(one.path(), two.path());
  for (const auto& entry : fs::directory_iterator(root_ / "box")) {
    EXPECT_TRUE(fs::exists(entry.path() / "run.json")) << entry.path();
    EXPECT_TRUE(fs::exists(entry.path() / "machine.json")) << entry.path();
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
  }
}

// Over one folder of two containers, whose process ids may be alike.
TEST_F(RunFolderTest, LeavesTheStartOfAnotherProcessOfItsIdAlone) {
  const fs::path other = root_ / "box" / (".start." + std::to_string(::getpid()));
  fs::create_directories(other);
  write_atomically(other / "machine.json", "{}");
  const RunFolder folder = RunFolder::create(root_, "box", {}, "{}");
  EXPECT_TRUE(fs::exists(folder.path() / "run.json"));
  EXPECT_TRUE(fs::exists(other / "machine.json"));
}

TEST_F(RunFolderTest, OneRunAtATime) {
  RunFolder one = RunFolder::create(root_, "box", {}, "{}");
  one.write_state("running", 1);
  EXPECT_EQ(fault(one.path()), one.path().string() + ": another run is at work in it");
}

TEST_F(RunFolderTest, ATraceGoesOnWhereItEndedWhateverVersionWroteIt) {
  fs::create_directories(root_);
  const fs::path file = root_ / "trace.csv";
  write_atomically(file, "time_s,device,gone\n12.5,cpu,x\n");
  Trace trace(file, nullptr);
  trace.sample(1, "dot");
  trace.write();
  const CsvTable rows = CsvTable::read(file);
  ASSERT_EQ(rows.rows(), 2u);
  EXPECT_EQ(rows.number(0, "time_s"), 12.5);
  EXPECT_EQ(rows.number(1, "time_s"), 13.5);
  EXPECT_EQ(rows.text(1, "during"), "dot");
  write_atomically(file, "time_s,device\nsoon,cpu\n");
  EXPECT_THROW(Trace(file, nullptr), BadInput);
}

TEST_F(RunFolderTest, WhatIsNoResultsFolderIsRefused) {
  fs::create_directories(root_);
  EXPECT_EQ(fault(root_), "--resume " + root_.string() + ": not a results folder (no run.json)");
  for (const char* text : {"", "not json", "[]", "{}", "{\"format\": \"1\"}", "{\"format\": 99}"}) {
    write_atomically(root_ / "run.json", text);
    EXPECT_NE(fault(root_), "") << text;
  }
}

TEST_F(RunFolderTest, OneWhoseSamplesAreElsewhereIsRefusedAndLeftAsItIs) {
  fs::path path;
  {
    RunFolder folder = RunFolder::create(root_, "box", {}, "{}");
    path = folder.path();
    folder.write_state("running", 2);
    folder.finish_group("one", "{}", {});
  }
  fs::remove_all(path / "bench");
  EXPECT_EQ(fault(path), (path / "bench").string() + ": the samples of 1 groups are gone");
  const fs::path packed = path / "bench.tar.xz";
  write_atomically(packed, "x");
  EXPECT_EQ(fault(path), packed.string() + ": its samples are packed: unpack them first: tar -C " +
                             path.string() + " -xf " + packed.string());
  EXPECT_FALSE(fs::exists(path / "bench"));
  EXPECT_FALSE(fs::exists(path / ".part"));
  fs::create_directory(path / "bench");
  EXPECT_NE(fault(path), "");
  write_atomically(path / "bench" / "one.json", "{}");
  EXPECT_EQ(fault(path), "");
}

TEST(Run, GoesOnWithTheSameMachineOnly) {
  const nlohmann::json then = nlohmann::json::parse(R"({
    "name": "box", "cpu": {"model": "A 1", "microarchitecture": "zen3"},
    "memory": {"bytes": 100000000000},
    "caches": [{"level": 1, "bytes": 32768, "total_bytes": 65536}],
    "gpu": {"devices": [{"name": "H100"}]}})");
  const auto changed = [&](const char* field, const nlohmann::json& value, bool with_gpus = true) {
    nlohmann::json now = then;
    now[nlohmann::json::json_pointer(field)] = value;
    return machine_difference(then, now, with_gpus);
  };
  EXPECT_EQ(machine_difference(then, then, true), "");
  EXPECT_EQ(changed("/name", "b"), "field name says box, this machine has b");
  EXPECT_EQ(changed("/cpu/model", "A 2"), "field cpu/model says A 1, this machine has A 2");
  EXPECT_EQ(changed("/cpu/microarchitecture", "zen4"),
            "field cpu/microarchitecture says zen3, this machine has zen4");
  EXPECT_EQ(changed("/memory/bytes", 96000000000),
            "field memory/bytes says 100000000000, this machine has 96000000000");
  EXPECT_EQ(changed("/memory/bytes", 98000000000), "");  // another kernel
  EXPECT_EQ(changed("/caches/0/bytes", 49152),
            "field caches says L1 32768 bytes (65536 in all), this machine has L1 49152 bytes "
            "(65536 in all)");
  const auto none = nlohmann::json::array();
  EXPECT_EQ(changed("/gpu/devices", none),
            "field gpu/devices says \"H100\", this machine has none");
  EXPECT_EQ(changed("/gpu/devices", none, false), "");
  for (const char* field : {"/cpu", "/memory", "/caches", "/gpu"})
    EXPECT_EQ(changed(field, {}), "");
}

TEST(Run, ATimeoutIsStated) {
  EXPECT_EQ(process_timeout(false, 0), 60);
  EXPECT_EQ(process_timeout(true, 12), 720);
}

TEST(RunResults, WhatWasWrongOnceHasNoTime) {
  const fs::path file = fs::temp_directory_path() / ("run_results." + std::to_string(getpid()));
  const auto write = [&](const std::string& rest) {
    std::ofstream(file) << R"({"context": {}, "benchmarks": [{"name": "dot/a/f32/N:8/real_time", )"
                        << R"("run_type": "iteration", "time_unit": "ns", )" << rest << "}]}";
  };
  const std::string time =
      R"("iterations": 1, "real_time": 5, "cpu_time": 5, "flops": 16, "bytes": 64, "label": "device=cpu;")";
  const std::string fault = R"("error_occurred": true, "error_message": "wrong result: 1 not 2")";
  const std::vector<Unit> units = {{.program = "bench_dot", .names = {"dot/a/f32/N:8"}}};
  const auto times_of = [&](const std::vector<std::string>& rounds) {
    RunResults results("group", 0);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      write(rounds[i]);
      Outcome outcome;
      outcome.exit_code = rounds[i] == fault;
      EXPECT_EQ(results.take(units[0], outcome, 60, file, static_cast<int>(i), false), "");
    }
    std::size_t times = 0;
    const std::string text = results.text(units);
    for (std::size_t at = 0; (at = text.find("real_time\":", at)) != std::string::npos; ++at)
      ++times;
    return times;
  };
  EXPECT_EQ(times_of({time, time}), 2u);
  EXPECT_EQ(times_of({time, fault}), 0u);
  EXPECT_EQ(times_of({time, fault, time}), 0u);
  fs::remove(file);
}

}  // namespace
}  // namespace roofline
