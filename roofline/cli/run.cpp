// roofline run: measure this machine into a results folder.
#include "roofline/run/run.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "roofline/base/error.hpp"
#include "roofline/base/say.hpp"
#include "roofline/check/side_by_side.hpp"
#include "roofline/cli/build.hpp"
#include "roofline/cli/commands.hpp"
#include "roofline/run/gpu_choice.hpp"
#include "roofline/run/run_gpus.hpp"

namespace roofline::cli {
namespace {

/// Index or UUID, as CUDA_VISIBLE_DEVICES takes it.
std::string check_gpu(const std::string& text) {
  const bool known = is_gpu_index(text) || is_gpu_uuid(text) || text == kAllGpus;
  return known ? "" : "'" + text + "' is neither an index nor a UUID (GPU-…) nor all";
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const bool number = CLI::detail::lexical_cast(text, seconds);
  return number && seconds > 0 ? "" : "'" + text + "' is not a number of seconds above 0";
}

/// Every GPU at once, and how they stand beside each other.
int run_all_gpus(const RunOptions& options, const std::filesystem::path& program) {
  const GpuRuns runs = run_gpus(program, options);
  std::vector<check::Report> reports;
  for (const std::filesystem::path& folder : runs.folders) {
    try {
      reports.push_back(check::check_folder(folder, {}, runs.folders));
    } catch (const BadInput& fault) {  // one that came to nothing
      say("{}\n", fault.what());
    }
  }
  if (reports.size() == 1) {
    fmt::print("{}", check::text_of(reports.front()));
  } else if (!reports.empty()) {
    fmt::print("{}", check::text_of(reports));
  }
  return runs.exit_code;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", "Measure ceilings and kernels into a results folder");
  const auto options = std::make_shared<RunOptions>();
  options->out = "results";
  auto* quick = command->add_flag_function(
      "--quick", [options](std::int64_t) { options->settings.full = false; },
      "Two to four minutes, four to nine on 2 cores with an L3 of hundreds of MB; a GPU adds "
      "about five, an estimate (default)");
  auto* full = command
                   ->add_flag("--full", options->settings.full,
                              "Every case, and more time for what is not quiet or in doubt: one to "
                              "three hours on 2 to 4 cores")
                   ->excludes(quick);
  auto* out = command->add_option("--out", options->out,
                                  "Root of results folders (results, where it is called)");
  auto* device = command->add_option("--device", options->settings.device, "cpu, gpu or all (all)")
                     ->check(CLI::IsMember({"cpu", "gpu", "all"}));
  auto* gpu = command
                  ->add_option("--gpu", options->settings.gpu,
                               "Which GPU: index or UUID; all: every GPU at once, a folder each, "
                               "without the CPU")
                  ->check(check_gpu);
  auto* filter = command->add_option(
      "--filter", options->settings.filter,
      "Only benchmarks whose name this regular expression is found in; the ceilings stay "
      "whole unless it matches some of them");
  command->add_option("--resume", options->resume, "Go on with a folder whose run was cut short")
      ->excludes(quick)
      ->excludes(full)
      ->excludes(out)
      ->excludes(device)
      ->excludes(gpu)
      ->excludes(filter);
  command
      ->add_option("--bench", options->own,
                   "A Google Benchmark program of your own, measured like ours; rows must carry "
                   "counters `flops` and `bytes` and a label device=cpu;dtype=f32; "
                   "(roofline::report() sets them)")
      ->allow_extra_args(false);
  command->add_option("--bin", options->bin, "Where the bench_* programs are (beside this one)");
  command
      ->add_option(
          "--timeout", options->timeout_s,
          "Seconds after which one bench process is killed (60 quick or 600 full, plus ten "
          "times what its samples shall take, plus three times what it is expected to)")
      ->check(check_seconds);
  command->callback([options, &exit_code] {
    options->build = kBuild;
    if (const auto& of = options->settings; of.device == "cpu" && !of.gpu.empty())
      throw BadInput(fmt::format("--gpu {}: not with --device cpu", of.gpu));
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (options->bin.empty()) {
      if (error) throw BadInput("--bin: give the folder of the bench_* programs");
      options->bin = program.parent_path();
    }
    exit_code = options->settings.gpu == kAllGpus ? run_all_gpus(*options, program) : run(*options);
  });
}

}  // namespace roofline::cli
