#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "roofline/cli/commands.hpp"
#include "roofline/error.hpp"

int main(int argc, char** argv) {
  CLI::App app{"What this machine's limits are, and how far kernels are from them", "roofline"};
  app.set_version_flag("--version", "roofline " ROOFLINE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  roofline::cli::add_analyze(app, exit_code);
  roofline::cli::add_machine(app, exit_code);
  roofline::cli::add_report(app, exit_code);
  roofline::cli::add_run(app, exit_code);
  roofline::cli::add_specs(app, exit_code);
  try {
    // CLI11 would only say that a subcommand is missing.
    const auto named = [&](CLI::App* command) { return command->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
      throw roofline::BadInput(fmt::format("unknown subcommand '{}' (see --help)", argv[1]));
    }
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
