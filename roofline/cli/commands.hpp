// The subcommands of `roofline`: one file each, one line here and one in main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace roofline::cli {

void add_analyze(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_machine(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_specs(CLI::App& app, int& exit_code);

}  // namespace roofline::cli
