// roofline compare: two boxes, dates or builds, and which differences are real.
#include "roofline/compare/compare.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "roofline/base/error.hpp"
#include "roofline/base/json_text.hpp"
#include "roofline/cli/arguments.hpp"
#include "roofline/cli/commands.hpp"

namespace roofline::cli {
namespace {

struct Options {
  std::filesystem::path a, b;
  double fail_below = 0;
  bool json = false;
};

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compare", "Two boxes, dates or builds: which differences are real");
  const auto options = std::make_shared<Options>();
  const char* side =
      "Results folder, or a folder of several runs of one build on one machine. Small differences "
      "need several: 12 a side, taken in turns (A B A B …)";
  command->add_option("A", options->a, side)->required();
  command->add_option("B", options->b, "The other one, held against A")->required();
  command
      ->add_option("--fail-below", options->fail_below,
                   "Exit code 1 if a real difference is below this ratio, for example 0.95")
      ->check(within(0, 1));
  command->add_flag("--json", options->json, "Print all ratios as JSON");
  command->callback([options, &exit_code] {
    const auto a = compare::read_side(options->a), b = compare::read_side(options->b);
    for (const auto& run_a : a) {
      for (const auto& run_b : b) {
        if (!std::filesystem::equivalent(run_a.folder, run_b.folder)) continue;
        throw BadInput(fmt::format("{} is on both sides", run_a.folder));
      }
    }
    const auto result = compare::compare(options->a.string(), a, options->b.string(), b);
    if (options->json) {
      fmt::print("{}\n", json_text(compare::json_of(result)));
    } else {
      fmt::print("{}", compare::text_of(result));
    }
    exit_code = result.any_below(options->fail_below) ? 1 : 0;
  });
}

}  // namespace roofline::cli
