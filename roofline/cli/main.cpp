#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "roofline/cli/commands.hpp"
#include "roofline/error.hpp"

namespace {

/// Names the word that is no subcommand; CLI11 would only say that one is missing.
void check_subcommands(const CLI::App& app, int argc, char** argv) {
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What this machine's limits are, and how far kernels are from them", "roofline"};
  app.set_version_flag("--version", "roofline " ROOFLINE_VERSION);
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
  try {
    check_subcommands(app, argc, argv);
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& fault) {
    fmt::print(stderr, "roofline: {} (see --help)\n", fault.what());
  } catch (const roofline::BadInput& fault) {
    fmt::print(stderr, "roofline: {}\n", fault.what());
  } catch (const std::exception& fault) {
    fmt::print(stderr, "roofline: {}\n", fault.what());
  }
  return 2;
}
