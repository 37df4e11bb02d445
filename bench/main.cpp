#include "bench/main.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "bench/affinity.hpp"
#include "bench/benchmarks.hpp"
#include "bench/case_list.hpp"
#include "bench/command_line.hpp"
#include "bench/google_flags.hpp"
#include "bench/passes.hpp"
#include "bench/reporters.hpp"
#include "bench/turns.hpp"
#include "kernels/cpu_features.hpp"
#include "roofline/base/standard_streams.hpp"
#include "roofline/machine/machine.hpp"
#ifdef ROOFLINE_HAS_CUDA
#include "bench/run_cuda.hpp"
#endif

namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

void add_context(const roofline::machine::Machine& machine, const kernels::Caches& caches) {
  benchmark::AddCustomContext("machine", machine.name);
  benchmark::AddCustomContext("cpu_model", machine.cpu_model);
  benchmark::AddCustomContext("microarchitecture", machine.microarchitecture);
  benchmark::AddCustomContext("usable_threads", std::to_string(machine.usable_threads));
  benchmark::AddCustomContext("l1d_bytes", std::to_string(caches.l1d));
  benchmark::AddCustomContext("l2_bytes", std::to_string(caches.l2));
  benchmark::AddCustomContext("l3_bytes", std::to_string(caches.l3));
  benchmark::AddCustomContext("isa",
                              fmt::format("{}", fmt::join(kernels::cpu_feature_names(), " ")));
  benchmark::AddCustomContext("compiler", __VERSION__);
}

void initialise_google(char* program, std::vector<std::string>& flags) {
  std::vector<char*> args{program};
  for (std::string& flag : flags) args.push_back(flag.data());
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (count > 1) throw kernels::BadInput(fmt::format("unknown argument '{}'", args[1]));
}

void refuse_missing_gpu() {
#ifdef ROOFLINE_HAS_CUDA
  if (!bench::gpu_fault().empty()) throw kernels::BadInput(bench::gpu_fault());
#else
  throw kernels::BadInput("--device gpu: built without CUDA");
#endif
}

int run(int argc, char** argv, const std::string& operations) {
  bench::CommandLine line;
  if (const auto code = bench::read_command_line(argc, argv, line)) return *code;
  const bench::Options& options = line.options;
  bench::refuse_bound_threads();

  const auto machine = roofline::machine::probe();
  const kernels::Caches caches = bench::caches_of(machine, machine.usable_threads);
#ifdef ROOFLINE_HAS_CUDA
  const kernels::Caches gpu = options.gpu ? bench::gpu_caches() : kernels::Caches{.cores = 0};
  if (options.gpu && (options.cpu || line.list) && !bench::gpu_fault().empty())
    fmt::print(stderr, "GPU left out: {}\n", bench::gpu_fault());
#else
  const kernels::Caches gpu;
#endif
  if (options.threads > caches.cores)
    throw kernels::BadInput(
        fmt::format("--threads: {} asked for, {} usable here", options.threads, caches.cores));
  const auto entries = bench::list_entries(split(operations), options, caches, gpu);
  if (line.list) {
    fmt::print("{}\n", bench::to_json(entries));
    roofline::check_stdout();
    return 0;
  }
  if (!options.shape.empty() && entries.empty())
    throw kernels::BadInput("--shape: no kernel of this program does " + options.dtype + " " +
                            options.shape);

  const auto environment = bench::google_environment();
  line.google.insert(line.google.begin(), environment.begin(), environment.end());
  auto google = bench::read_google_flags(line.google, line.passes);
  const bool in_passes = line.passes > 0 && !google.only_list;
  initialise_google(argv[0], in_passes ? google.others : line.google);
  if (!options.cpu) refuse_missing_gpu();
  bench::check_filter(google.filter, entries);

  add_context(machine, caches);
#ifdef ROOFLINE_HAS_CUDA
  if (options.gpu && bench::gpu_fault().empty()) bench::add_gpu_context();
#endif
  bench::Benchmarks benchmarks(entries, machine, caches, gpu, line.counters);
  bench::take_turns(line.turns);
  bench::ConsoleRates console;
  bench::CheckedJson file;
  if (in_passes) {
    bench::run_in_passes(line.passes, console, google.out,
                         [&](const bench::Iterations& known) { benchmarks.register_all(known); });
  } else {
    bench::await_turn();
    benchmarks.register_all({});
    benchmark::RunSpecifiedBenchmarks(google.on_console ? &console : nullptr,
                                      google.out.empty() ? nullptr : &file);
  }
  benchmark::Shutdown();
  roofline::check_stdout();
  if (!file.arrived())
    throw kernels::BadInput("cannot write " + google.out + ": the disk may be full");
  if (benchmarks.any_wrong()) return 1;
  return benchmarks.timed() || google.only_list || options.shape.empty() ? 0 : 2;  // rows say why
}

}  // namespace

int bench::run_main(int argc, char** argv, const std::string& operations) {
  roofline::open_closed_streams();
  try {
    return run(argc, argv, operations);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 2;
  }
}
