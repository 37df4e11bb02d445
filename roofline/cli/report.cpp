// roofline report: the pictures and the page of results folders, or a summary on the terminal.
#include "roofline/report/report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/base/process.hpp"
#include "roofline/ceilings/ceilings_csv.hpp"
#include "roofline/ceilings/roofs.hpp"
#include "roofline/check/facts.hpp"
#include "roofline/cli/arguments.hpp"
#include "roofline/cli/commands.hpp"
#include "roofline/cli/drawn.hpp"
#include "roofline/overlay/analysis.hpp"
#include "roofline/report/summary.hpp"
#include "roofline/report/text_report.hpp"
#include "roofline/results/run_notes.hpp"
#include "roofline/results/unpacked.hpp"

namespace roofline::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path page;
  bool text = false;
};

/// How many benchmarks want samples, from the samples themselves, or why that cannot be told.
/// Throws BadInput where machine.json is unusable.
std::string samples_line(const std::filesystem::path& folder) {
  const std::filesystem::path facts = folder / "machine.json";
  if (!has_samples(folder) || !std::filesystem::exists(facts)) return {};
  const check::Facts known(parse_json(read_text(facts), facts.string()), facts.string());
  const CeilingContext context = context_of(check::machine_of(known));
  try {
    const Unpacked samples(folder);
    const std::string wanting = samples.read([&](const std::filesystem::path& path) {
      return wanting_samples(analyze_folder(path, context).data.benchmarks);
    });
    return wanting.empty() ? wanting : fmt::format("\n{}\n", wanting);
  } catch (const BadInput& fault) {
    return fmt::format("\nquiet samples are not counted: {}\n", fault.what());
  }
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "report", "Write report.html and the pictures into a results folder, or show it as text");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("DIR", options->folders,
                   "Results folders, as `roofline run` writes them: the first gets the files, "
                   "further ones are shown beside it on the page")
      ->required();
  auto* page = command->add_option("--out", options->page,
                                   "Where the page goes (default: report.html in the first DIR)");
  command->add_flag("--text", options->text, "Summary and a small chart here; writes nothing")
      ->excludes(page);
  command->callback([options, &exit_code] {
    exit_code = 0;
    if (options->text) {
      for (const auto& folder : options->folders) {
        fmt::print("{}{}", text_report(folder), samples_line(folder));
      }
      return;
    }
    if (options->page.extension() != ".html") {
      for (const auto& folder : options->folders) keep_folder("--out", options->page, folder);
    }
    // As strict as check, without which the page has no verdicts.
    for (const auto& folder : options->folders) {
      const std::filesystem::path ceilings = folder / "ceilings.csv";
      if (std::filesystem::exists(ceilings)) read_ceilings(ceilings);
      run_notes(folder);
    }
    const SignalGuard guard;
    print_drawn(draw(options->folders, options->page), options->folders.front());
  });
}

}  // namespace roofline::cli
