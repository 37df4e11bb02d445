#include "bench/google_flags.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace bench {
namespace {

std::string fault_of(const std::vector<std::string>& flags, int passes = 0) {
  try {
    read_google_flags(flags, passes);
  } catch (const kernels::BadInput& fault) {
    return fault.what();
  }
  return "";
}

TEST(GoogleFlags, WhatCannotBeDoneIsRefused) {
  EXPECT_EQ(fault_of({"--benchmark_format=json", "--benchmark_repetitions=3"}), "");
  EXPECT_EQ(fault_of({"--benchmark_format=csv"}),
            "--benchmark_format=csv: rows have different counters; take json");
  EXPECT_EQ(fault_of({"--benchmark_out_format=csv"}),
            "--benchmark_out_format=csv: rows have different counters; take json");
  EXPECT_EQ(fault_of({}, 2), "--passes need a file: --benchmark_out=FILE");
  EXPECT_EQ(fault_of({"--benchmark_repetitions=2", "--benchmark_out=x"}, 2),
            "--passes are in place of --benchmark_repetitions: give one of them");
  EXPECT_NE(fault_of({"--benchmark_format=json", "--benchmark_out=x"}, 2), "");
  EXPECT_EQ(fault_of({"--benchmark_out_format=console", "--benchmark_out=x"}),
            "--benchmark_out_format=console: files are written as json");
  EXPECT_EQ(fault_of({"--benchmark_out=/nowhere/x.json"}),
            "--benchmark_out: cannot write /nowhere/x.json: No such file or directory");
  EXPECT_EQ(fault_of({"--benchmark_list_tests"}, 2), "") << "a list needs no file";
  for (const char* no : {"off", "No", "f", "0"})
    EXPECT_NE(fault_of({fmt::format("--benchmark_list_tests={}", no)}, 2), "") << no;
}

TEST(GoogleFlags, TheEnvironmentsAreFlagsLikeOthers) {
  ::setenv("BENCHMARK_FILTER", "dot", 1);
  ::setenv("BENCHMARK_REPETITIONS", "3", 1);
  ::setenv("BENCHMARK_ROOT", "not Google's", 1);
  ::setenv("BENCHMARK_OUT", "", 1);
  auto flags = google_environment();
  for (const char* name : {"FILTER", "REPETITIONS", "ROOT", "OUT"})
    ::unsetenv((std::string("BENCHMARK_") + name).c_str());
  const auto has = [&](const std::string& flag) {
    return std::count(flags.begin(), flags.end(), flag) > 0;
  };
  EXPECT_TRUE(has("--benchmark_filter=dot") && has("--benchmark_repetitions=3"));
  EXPECT_FALSE(has("--benchmark_out=") || has("--benchmark_root=not Google's"));
  EXPECT_EQ(read_google_flags(flags, 0).filter, "dot");
  EXPECT_NE(fault_of(flags, 2), "");
  flags.push_back("--benchmark_filter=x");
  EXPECT_EQ(read_google_flags(flags, 0).filter, "x");
  EXPECT_EQ(read_google_flags({}, 0).filter, ".");
}

TEST(GoogleFlags, WhatIsNoNumberIsRefused) {
  EXPECT_EQ(fault_of({"--benchmark_min_time=0.5", "--benchmark_repetitions=3"}), "");
  EXPECT_EQ(fault_of({"--benchmark_min_time=0.5s"}), "");
  EXPECT_EQ(fault_of({"--benchmark_min_time=abc"}), "--benchmark_min_time=abc: not a number");
  EXPECT_EQ(fault_of({"--benchmark_repetitions="}), "--benchmark_repetitions=: not a number");
  EXPECT_EQ(fault_of({"--benchmark_repetitions=2.5"}), "--benchmark_repetitions=2.5: not a number");
  EXPECT_EQ(fault_of({"--benchmark_min_time=inf"}), "--benchmark_min_time=inf: not a number");
  EXPECT_EQ(fault_of({"--benchmark_min_time=1 minute"}),
            "--benchmark_min_time=1 minute: not a number");
}

TEST(GoogleFlags, TheFileIsLeftToThePassesAndKeepsWhatItHolds) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("google_flags_test_" + std::to_string(::getpid()) + ".json");
  std::ofstream(path) << "kept";
  const auto flags =
      read_google_flags({"--benchmark_out=" + path.string(), "--benchmark_out_format=json",
                         "--benchmark_filter=-a", "--benchmark_min_time=1"},
                        3);
  EXPECT_EQ(flags.out, path);
  EXPECT_EQ(flags.filter, "-a");
  EXPECT_TRUE(flags.on_console);
  EXPECT_EQ(flags.others, (std::vector<std::string>{"--benchmark_filter=-a",
                                                    "--benchmark_min_time=1", "--benchmark_out="}));
  EXPECT_EQ(std::filesystem::file_size(path), 4u);
  std::filesystem::remove(path);
}

TEST(GoogleFlags, AFilterMustFindSomethingThatCanRun) {
  std::vector<Entry> entries =
      list_entries({"dot"}, {.gpu = false, .shape = "N:64", .dtype = "f32", .threads = 1},
                   {.cores = 1}, {.cores = 0});
  ASSERT_FALSE(entries.empty());
  const auto of = [&](const std::string& filter) {
    try {
      check_filter(filter, entries);
    } catch (const kernels::BadInput& fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  for (Entry& entry : entries)
    entry.missing = entry.kernel->variant == "mkl" ? "MKL not found" : "";
  for (const char* good :
       {".", "", "all", "/scalar/", "^dot/scalar/f32/N:64/threads:1/real_time$", "-/nothing/"})
    EXPECT_EQ(of(good), "") << good;
  EXPECT_EQ(of("nomatch"), "--benchmark_filter: no benchmark's name has 'nomatch'");
  EXPECT_EQ(of("-dot"), "--benchmark_filter: no benchmark's name has '-dot'");
  EXPECT_EQ(of("("), "--benchmark_filter: '(' is no regular expression");
  EXPECT_EQ(of("/mkl/"), "nothing to run: dot/mkl/f32/N:64/threads:1: MKL not found");
}

}  // namespace
}  // namespace bench
