// Passes over all benchmarks: order, iterations and the file of Google Benchmark's JSON.
#include "bench/passes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "roofline/base/error.hpp"

namespace bench {
namespace {

/// Of this process: ctest runs several of this file's tests at a time.
std::filesystem::path file_of_rows() {
  return std::filesystem::temp_directory_path() /
         ("roofline_passes_test_" + std::to_string(::getpid()) + ".json");
}

nlohmann::json rows_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file).at("benchmarks");
}

/// Rows of `passes` passes over two benchmarks that work and one that says why it does not;
/// `during` is called in each call of those that work.
nlohmann::json rows_of(
    int passes, const std::filesystem::path& path = file_of_rows(),
    const std::function<void()>& during = [] {}) {
  std::vector<std::string> words = {"passes_test", "--benchmark_min_time=0.005",
                                    "--benchmark_filter=^(a|b|wrong)$"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  const auto add = [](const char* name, const Iterations& known, auto work) {
    const auto found = known.find(name);
    if (!known.empty() && found == known.end()) return;
    auto* registered = benchmark::RegisterBenchmark(name, work);
    if (!known.empty()) registered->Iterations(found->second);
  };
  const auto sleeps = [&](benchmark::State& state) {
    for (auto _ : state) std::this_thread::sleep_for(std::chrono::microseconds(200));
    during();
    state.counters["flops"] = 1;
  };
  std::ostringstream shown;
  benchmark::ConsoleReporter display(benchmark::ConsoleReporter::OO_None);
  display.SetOutputStream(&shown);
  display.SetErrorStream(&shown);
  run_in_passes(passes, display, path, [&](const Iterations& known) {
    add("a", known, sleeps);
    add("b", known, sleeps);
    add("wrong", known, [](benchmark::State& state) { state.SkipWithError("not here"); });
    add("other", known, sleeps);
  });
  benchmark::ClearRegisteredBenchmarks();
  const auto rows = rows_in(path);
  std::filesystem::remove(path);
  return rows;
}

TEST(Passes, EachHasEveryBenchmarkOnceWithTheSameIterations) {
  const auto rows = rows_of(3);
  ASSERT_EQ(rows.size(), 7u);  // what gave no result is not asked again
  std::map<std::string, std::set<double>> iterations;
  for (const auto& row : rows) {
    if (row.at("name") == "wrong") {
      EXPECT_EQ(row.at("error_message"), "not here");
      continue;
    }
    EXPECT_EQ(row.at("flops"), 1.0);
    iterations[row.at("name")].insert(row.at("iterations").get<double>());
  }
  ASSERT_EQ(iterations.size(), 2u) << "names differ, or the filter was forgotten";
  EXPECT_EQ(iterations.at("a").size(), 1u);
  EXPECT_GT(*iterations.at("a").begin(), 1);
  for (const std::size_t first : {3u, 5u}) {
    EXPECT_NE(rows[first].at("name"), rows[first + 1].at("name")) << "pass from row " << first;
  }
}

TEST(Passes, OneIsAsGoogleBenchmarksOwn) { EXPECT_EQ(rows_of(1).size(), 3u); }

TEST(Passes, WhileOneGoesOnTheFileHasThoseBefore) {
  std::set<std::size_t> seen;
  rows_of(3, file_of_rows(), [&] {
    if (std::filesystem::exists(file_of_rows())) seen.insert(rows_in(file_of_rows()).size());
  });
  EXPECT_EQ(seen, (std::set<std::size_t>{3, 5}));
}

TEST(Passes, AFileThatCannotBeWrittenIsNamed) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  try {
    rows_of(1, "/dev/full");
    ADD_FAILURE();
  } catch (const roofline::BadInput& fault) {
    EXPECT_EQ(fault.what(), std::string("cannot write /dev/full: No space left on device"));
  }
  benchmark::ClearRegisteredBenchmarks();
}

}  // namespace
}  // namespace bench
