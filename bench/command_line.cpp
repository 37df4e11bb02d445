#include "bench/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "roofline/base/dtype_names.hpp"

namespace bench {

std::optional<int> read_command_line(int argc, char** argv, CommandLine& line) {
  std::string suite = "full", device = "all";
  CLI::App app{
      "Google Benchmark program of the roofline suite. All --benchmark_* flags work, but for CSV.",
      "bench"};
  app.allow_extras();
  app.add_option("--suite", suite, "quick or full")->check(CLI::IsMember({"quick", "full"}));
  app.add_option("--device", device, "cpu, gpu or all")
      ->check(CLI::IsMember({"cpu", "gpu", "all"}));
  app.add_option("--turns", line.turns,
                 "file descriptor of a socket over which samples take turns");
  app.add_option("--passes", line.passes,
                 "samples of each benchmark, one of each after the other, into --benchmark_out; in "
                 "place of --benchmark_repetitions")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--counters", line.counters,
               "GPU: bytes and FLOPs by hardware counters, after each sample");
  app.add_flag("--list", line.list, "print the benchmarks as JSON and exit");
  app.add_option("--shape", line.options.shape,
                 "one case of your own, e.g. M:64/N:64/K:64/temp:cold");
  app.add_option("--dtype", line.options.dtype, "dtype of that case (default f32)");
  app.add_option("--threads", line.options.threads, "threads of that case (default: all cores)")
      ->check(CLI::Range(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "{}: {}\n", argv[0], e.what());
    return 2;
  }
  const std::string& dtype = line.options.dtype;
  line.options.dtype = roofline::canonical_dtype(dtype).value_or(dtype);
  line.options.suite = suite == "quick" ? Suite::quick : Suite::full;
  line.options.cpu = device != "gpu";
  line.options.gpu = device != "cpu";
  line.google = app.remaining_for_passthrough(true);
  std::reverse(line.google.begin(), line.google.end());
  return std::nullopt;
}

}  // namespace bench
