// roofline report: draws the pictures of a results folder.
#include "roofline/report.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "roofline/cli/commands.hpp"
#include "roofline/process.hpp"

namespace roofline::cli {

void add_report(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("report", "Draw the pictures of a results folder");
  const auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "A results folder, as `roofline run` writes it")->required();
  command->callback([folder, &exit_code] {
    const SignalGuard guard;
    const auto drawn = draw(*folder);
    for (const auto& file : drawn.files) fmt::print("{}\n", file.string());
    if (!drawn.note.empty()) fmt::print("{}\n", drawn.note);
    exit_code = 0;
  });
}

}  // namespace roofline::cli
