// roofline check: the verdict on a box, with the causes.
#include "roofline/check/check.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "roofline/cli/arguments.hpp"
#include "roofline/cli/commands.hpp"

namespace roofline::cli {
namespace {

struct Options {
  std::filesystem::path folder, results;
  double price_per_hour = kUnknownNumber;
  bool json = false;
};

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "check", "Is this box what was advertised? PASS, WARN, FAIL or UNKNOWN for each resource");
  const auto options = std::make_shared<Options>();
  command->add_option("DIR", options->folder, "Results folder, as `roofline run` writes it")
      ->required();
  command->add_option("--results", options->results,
                      "Where other runs of the same machine are, for what is typical (default: "
                      "beside DIR)");
  command
      ->add_option("--price", options->price_per_hour,
                   "Dollars an hour for the box: says how much FLOP and how many bytes one buys")
      ->check(within(1e-4, 1e6));
  command->add_flag("--json", options->json, "Print the verdict as JSON");
  command->footer("Exit code: 0 without a FAIL, 1 with one, 2 for bad input.");
  command->callback([options, &exit_code] {
    check::Report report = check::check_folder(options->folder, options->results);
    report.price_per_hour = options->price_per_hour;
    if (options->json) {
      fmt::print("{}\n", check::json_of(report).dump(2));
    } else {
      fmt::print("{}", check::text_of(report));
    }
    exit_code = report.verdict == check::Grade::kFail ? 1 : 0;
  });
}

}  // namespace roofline::cli
