#include "bench/main.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <sstream>

#include "bench/affinity.hpp"
#include "bench/case_list.hpp"
#include "bench/google_flags.hpp"
#include "bench/passes.hpp"
#include "bench/reporters.hpp"
#include "bench/run_cpu.hpp"
#include "bench/turns.hpp"
#include "kernels/cpu_features.hpp"
#include "roofline/base/dtype_names.hpp"
#include "roofline/base/standard_streams.hpp"
#include "roofline/machine/limits.hpp"
#include "roofline/machine/machine.hpp"
#ifdef ROOFLINE_HAS_CUDA
#include "bench/run_cuda.hpp"
#endif

namespace {

/// Of the first `threads` of the machine's CPUs, those that a team of so many is pinned to.
kernels::Caches caches_of(const roofline::machine::Machine& machine, int threads) {
  kernels::Caches caches{.memory = machine.memory_limit_bytes, .cores = machine.usable_threads};
  for (const auto& cache : machine.caches) {
    if (cache.level == 1) caches.l1d = cache.bytes;
    if (cache.level == 2) caches.l2 = cache.bytes / std::max(1, cache.cores_sharing);
    if (cache.level == 3) {
      const auto& reached = cache.reached_bytes;
      const auto last = static_cast<std::size_t>(threads) - 1;
      caches.l3 = last < reached.size() ? reached[last] : cache.total_bytes;
    }
  }
  if (machine.microarchitecture.starts_with("zen")) caches.maker = kernels::Maker::amd;
  return caches;
}

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

int run(int argc, char** argv, const std::string& operations) {
  bench::Options options;
  std::string suite = "full", device = "all";
  bool list = false, counters = false;
  int turns = -1, passes = 0;
  CLI::App app{
      "Google Benchmark program of the roofline suite. All --benchmark_* flags work, but for CSV.",
      "bench"};
  app.allow_extras();
  app.add_option("--suite", suite, "quick or full")->check(CLI::IsMember({"quick", "full"}));
  app.add_option("--device", device, "cpu, gpu or all")
      ->check(CLI::IsMember({"cpu", "gpu", "all"}));
  app.add_option("--turns", turns, "file descriptor of a socket over which samples take turns");
  app.add_option("--passes", passes,
                 "samples of each benchmark, one of each after the other, into --benchmark_out; in "
                 "place of --benchmark_repetitions")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--counters", counters,
               "GPU: bytes and FLOPs by hardware counters, after each sample");
  app.add_flag("--list", list, "print the benchmarks as JSON and exit");
  app.add_option("--shape", options.shape, "one case of your own, e.g. M:64/N:64/K:64/temp:cold");
  app.add_option("--dtype", options.dtype, "dtype of that case (default f32)");
  app.add_option("--threads", options.threads, "threads of that case (default: all cores)")
      ->check(CLI::Range(1, 1024));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "{}: {}\n", argv[0], e.what());
    return 2;
  }
  bench::refuse_bound_threads();
  options.dtype = roofline::canonical_dtype(options.dtype).value_or(options.dtype);
  options.suite = suite == "quick" ? bench::Suite::quick : bench::Suite::full;
  options.cpu = device != "gpu";
  options.gpu = device != "cpu";

  const auto machine = roofline::machine::probe();
  const kernels::Caches caches = caches_of(machine, machine.usable_threads);
#ifdef ROOFLINE_HAS_CUDA
  const kernels::Caches gpu = options.gpu ? bench::gpu_caches() : kernels::Caches{.cores = 0};
  if (options.gpu && (options.cpu || list) && !bench::gpu_fault().empty())
    fmt::print(stderr, "GPU left out: {}\n", bench::gpu_fault());
#else
  const kernels::Caches gpu;
#endif
  if (options.threads > caches.cores)
    throw kernels::BadInput(
        fmt::format("--threads: {} asked for, {} usable here", options.threads, caches.cores));
  const auto entries = bench::list_entries(split(operations), options, caches, gpu);
  if (list) {
    fmt::print("{}\n", bench::to_json(entries));
    roofline::check_stdout();
    return 0;
  }
  if (!options.shape.empty() && entries.empty())
    throw kernels::BadInput("--shape: no kernel of this program does " + options.dtype + " " +
                            options.shape);

  auto rest = app.remaining_for_passthrough(true);
  std::reverse(rest.begin(), rest.end());
  auto google = bench::read_google_flags(rest, passes);
  if (google.only_list) passes = 0;
  std::vector<char*> args{argv[0]};
  for (std::string& flag : passes > 0 ? google.others : rest) args.push_back(flag.data());
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (count > 1) throw kernels::BadInput(fmt::format("unknown argument '{}'", args[1]));
#ifdef ROOFLINE_HAS_CUDA
  if (device == "gpu" && !bench::gpu_fault().empty()) throw kernels::BadInput(bench::gpu_fault());
#else
  if (device == "gpu") throw kernels::BadInput("--device gpu: built without CUDA");
#endif
  bench::check_filter(google.filter, entries);

  add_context(machine, caches);
  bench::ProblemCache cache(static_cast<double>(caches.memory), [] {
    namespace machine = roofline::machine;
    return static_cast<double>(machine::usable_memory(machine::read_limits()));
  });
#ifdef ROOFLINE_HAS_CUDA
  bench::ProblemCache gpu_cache(static_cast<double>(gpu.memory), bench::gpu_free_bytes);
  if (options.gpu && bench::gpu_fault().empty()) bench::add_gpu_context();
#endif
  bool timed = false;
  const auto register_all = [&](const bench::Iterations& known) {
    for (const auto& entry : entries) {
      const auto found = known.find(entry.name);
      if (!entry.missing.empty() || (!known.empty() && found == known.end())) continue;
      const benchmark::IterationCount iterations = known.empty() ? 0 : found->second;
#ifdef ROOFLINE_HAS_CUDA
      if (entry.kernel->gpu()) {
        bench::register_gpu(entry, gpu_cache, gpu, counters, iterations, timed);
        continue;
      }
#endif
      auto* registered =
          benchmark::RegisterBenchmark(entry.name.c_str(), [&, entry](benchmark::State& state) {
            bench::run_cpu(state, entry, cache, caches_of(machine, entry.instance.threads),
                           machine.cpus);
            timed = timed || !state.error_occurred();
          })->UseRealTime();
      if (iterations > 0) registered->Iterations(iterations);
    }
  };
  bench::take_turns(turns);
  bench::ConsoleRates console;
  bench::CheckedJson file;
  if (passes > 0) {
    bench::run_in_passes(passes, console, google.out, register_all);
  } else {
    bench::await_turn();
    register_all({});
    benchmark::RunSpecifiedBenchmarks(google.on_console ? &console : nullptr,
                                      google.out.empty() ? nullptr : &file);
  }
  benchmark::Shutdown();
  roofline::check_stdout();
  if (!file.arrived())
    throw kernels::BadInput("cannot write " + google.out + ": the disk may be full");
#ifdef ROOFLINE_HAS_CUDA
  if (gpu_cache.any_wrong()) return 1;
#endif
  if (cache.any_wrong()) return 1;
  return timed || google.only_list || options.shape.empty() ? 0 : 2;  // rows have said why
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
