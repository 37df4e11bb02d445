#include "roofline/run/own_bench.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"
#include "roofline/results/bench_json.hpp"
#include "roofline/results/bench_name.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIsIt = "is it a Google Benchmark program?";

/// From the line that opens an object to the one that closes it: programs print words of their own.
std::string json_part(const std::string& text) {
  const std::size_t begin = text.starts_with('{') ? 0 : text.find("\n{") + 1;
  const std::size_t end = text.rfind("\n}");
  return begin < end && end != std::string::npos ? text.substr(begin, end + 2 - begin) : "";
}

class Program {
 public:
  Program(fs::path path, const std::vector<std::pair<std::string, std::string>>& environment)
      : path_(std::move(path)), environment_(environment) {}

  [[noreturn]] void fail(std::string_view what) const {
    throw BadInput(fmt::format("--bench {}: {}", path_.string(), what));
  }

  std::string output(const std::vector<std::string>& flags, const std::string& what,
                     double timeout_s) const {
    Command command{.arguments = {fs::absolute(path_).string()},
                    .environment = environment_,
                    .timeout_s = timeout_s,
                    .keep_output = true,
                    .own = true};
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = run_process(command);
    if (outcome.interrupted) throw BadInput("interrupted before anything was measured");
    if (!outcome.clean()) {
      fail(fmt::format("{}: {}{}", what, outcome.words(timeout_s),
                       outcome.exit_code > 0 ? fmt::format("; {}", kIsIt) : ""));
    }
    return outcome.output;
  }

 private:
  fs::path path_;
  const std::vector<std::pair<std::string, std::string>>& environment_;
};

}  // namespace

std::vector<ListedBenchmark> list_own(
    const fs::path& path, const std::string& filter, double timeout_s,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  const Program program(path, environment);
  if (::access(path.c_str(), F_OK) != 0) program.fail(std::strerror(errno));
  if (!fs::is_regular_file(path) || ::access(path.c_str(), X_OK) != 0) {
    program.fail("not an executable file");
  }

  std::vector<ListedBenchmark> out;
  std::istringstream lines(program.output({"--benchmark_list_tests=true"}, "listing", timeout_s));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    ListedBenchmark entry;
    entry.program = fs::absolute(path);
    entry.own = true;
    entry.name = benchmark_name(line);
    Benchmark row;
    row.name = entry.name;
    if (const auto wrong = read_name(row))
      program.fail(fmt::format("'{}': {}", entry.name, *wrong));
    if (is_probe(row)) {
      program.fail(
          fmt::format("'{}' has a probe's name: a ceiling would be taken from it", entry.name));
    }
    out.push_back(std::move(entry));
  }
  if (out.empty()) program.fail(fmt::format("lists no benchmarks; {}", kIsIt));

  const std::regex expression = filter_expression(filter);
  const auto chosen = std::find_if(out.begin(), out.end(), [&](const ListedBenchmark& entry) {
    return std::regex_search(entry.name, expression);
  });
  if (chosen == out.end()) return out;
  const std::string& first = chosen->name;
  const std::string rows = json_part(
      program.output({"--benchmark_filter=" + exact_filter({first}), "--benchmark_repetitions=1",
                      "--benchmark_min_time=0.001", "--benchmark_format=json"},
                     first, timeout_s));
  if (rows.empty()) {
    program.fail(fmt::format(
        "{}: no JSON on its output, or no benchmark of that name (it must list names and print "
        "nothing else); {}",
        first, kIsIt));
  }
  parse_bench_json(rows, fmt::format("--bench {}", path.string()));
  return out;
}

}  // namespace roofline
