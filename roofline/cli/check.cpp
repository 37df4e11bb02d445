// roofline check: the verdict on a box, with the causes.
#include "roofline/check/side_by_side.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "roofline/base/json_text.hpp"
#include "roofline/cli/arguments.hpp"
#include "roofline/cli/commands.hpp"

namespace roofline::cli {
namespace {

struct Options {
  std::vector<std::filesystem::path> folders;
  std::filesystem::path results;
  double price_per_hour = kUnknownNumber;
  bool json = false;
};

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "check", "Is this box what was advertised? PASS, WARN, FAIL or UNKNOWN for each resource");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("DIR", options->folders,
                   "Results folder, as `roofline run` writes it; several are ranked beside each "
                   "other: boxes, or the GPUs of one")
      ->required();
  command->add_option("--results", options->results,
                      "Where other runs of the same machine are, for what is typical (default: "
                      "beside each DIR)");
  command
      ->add_option("--price", options->price_per_hour,
                   "Dollars an hour for the box: says how much FLOP and how many bytes one buys")
      ->check(within(1e-4, 1e6));
  command->add_flag("--json", options->json, "Print the verdict as JSON");
  command->footer("Exit code: 0 without a FAIL, 1 with one, 2 for bad input.");
  command->callback([options, &exit_code] {
    std::vector<check::Report> reports = check::check_folders(options->folders, options->results);
    for (check::Report& report : reports) report.price_per_hour = options->price_per_hour;
    const bool one = reports.size() == 1;
    if (options->json) {
      const auto json = one ? check::json_of(reports.front()) : check::json_of(reports);
      fmt::print("{}\n", json_text(json));
    } else {
      fmt::print("{}", one ? check::text_of(reports.front()) : check::text_of(reports));
    }
    exit_code = check::verdict_of(reports) == check::Grade::kFail ? 1 : 0;
  });
}

}  // namespace roofline::cli
