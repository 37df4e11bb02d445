#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <string>

#include "roofline/base/error.hpp"
#include "roofline/base/say.hpp"
#include "roofline/base/standard_streams.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/cli/build.hpp"
#include "roofline/cli/commands.hpp"

namespace {

/// Names the word that is no subcommand, or the flag that is none before one; CLI11 would only say
/// that a subcommand is missing.
void check_subcommands(const CLI::App& app, int argc, char** argv) {
  if (argc > 1 && argv[1][0] == '-' && app.get_option_no_throw(argv[1]) == nullptr) {
    throw roofline::BadInput(fmt::format("unknown option '{}' (see --help)", argv[1]));
  }
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto all = at->get_subcommands([](const CLI::App*) { return true; });
    if (all.empty()) return;
    const auto named = std::find_if(all.begin(), all.end(), [&](const CLI::App* command) {
      return command->check_name(argv[i]);
    });
    if (named == all.end()) {
      throw roofline::BadInput(fmt::format("unknown subcommand '{}' (see --help)", argv[i]));
    }
    at = *named;
  }
}

/// The exit code of the subcommand that is asked for.
int run_command(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    check_subcommands(app, argc, argv);
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  }
}

}  // namespace

int main(int argc, char** argv) {
  roofline::open_closed_streams();
  CLI::App app{"What this machine's limits are, and how far kernels are from them", "roofline"};
  app.set_version_flag("--version", std::string("roofline ") + roofline::cli::kBuild);
  app.require_subcommand(1);
  int exit_code = 0;
  roofline::cli::add_analyze(app, exit_code);
  roofline::cli::add_check(app, exit_code);
  roofline::cli::add_compare(app, exit_code);
  roofline::cli::add_machine(app, exit_code);
  roofline::cli::add_predict(app, exit_code);
  roofline::cli::add_report(app, exit_code);
  roofline::cli::add_run(app, exit_code);
  roofline::cli::add_specs(app, exit_code);
  app.footer(
      "Begin with `roofline run`, then `roofline check DIR` and `roofline report DIR` on its "
      "folder.");
  try {
    const int code = run_command(app, argc, argv, exit_code);
    roofline::check_stdout();
    return code;
  } catch (const CLI::ExtrasError&) {  // its own words have them in reverse
    roofline::say("roofline: not expected: {} (see --help)\n",
                  roofline::printable(fmt::format("{}", fmt::join(app.remaining(true), " "))));
  } catch (const CLI::ParseError& fault) {
    roofline::say("roofline: {} (see --help)\n", roofline::printable(fault.what()));
  } catch (const std::exception& fault) {
    roofline::say("roofline: {}\n", roofline::printable(fault.what()));
  }
  return 2;
}
