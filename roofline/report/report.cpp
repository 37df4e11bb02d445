#include "roofline/report/report.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"

namespace roofline {
namespace {

namespace fs = std::filesystem;

// Exit codes of the drawing scripts.
constexpr int kUnusable = 2;
constexpr int kNoLibrary = 3;
// Of env and of run_process() if there is no such program.
constexpr int kNoProgram = 127;
constexpr double kTimeout = 300;

fs::path executable_folder() {
  std::error_code fault;
  const auto path = fs::read_symlink("/proc/self/exe", fault);
  return fault ? fs::path{} : path.parent_path();
}

/// scripts/report of the source tree, or where an installed copy or ROOFLINE_REPORT has it.
std::optional<fs::path> find_script(const char* name) {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("ROOFLINE_REPORT")) folders.emplace_back(named);
  const auto bin = executable_folder();
  folders.push_back(bin / "../../scripts/report");
  folders.push_back(bin / "../share/roofline/report");
  for (const auto& folder : folders) {
    std::error_code fault;
    const auto path = fs::weakly_canonical(folder / name, fault);
    if (!fault && fs::exists(path, fault)) return path;
  }
  return std::nullopt;
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string line, last;
  while (std::getline(lines, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

Drawn read_output(const std::string& text) {
  Drawn drawn;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kWrote = "wrote ";
    if (line.starts_with(kWrote)) {
      drawn.files.emplace_back(line.substr(kWrote.size()));
    } else {
      drawn.notes.push_back(line);
    }
  }
  return drawn;
}

/// Runs a script with the first Python that has what it needs; `missing` says what is left out
/// without one.
Drawn run_script(const char* name, const std::vector<std::string>& arguments,
                 const std::string& missing) {
  const auto drawer = find_script(name);
  if (!drawer) return {{}, {"scripts/report not found beside the program: " + missing}, false};
  const auto bin = executable_folder();
  const std::vector<std::string> pythons[] = {
      {(bin / "../venv/bin/python3").string()},
      {(drawer->parent_path() / "../../build/venv/bin/python3").string()},
      {"/usr/bin/env", "python3"},
  };
  for (auto command : pythons) {
    command.push_back("-E");  // PYTHONPATH is of another Python
    command.push_back(drawer->string());
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto done =
        run_process({.arguments = command, .timeout_s = kTimeout, .keep_output = true});
    if (done.clean()) return read_output(done.output);
    if (done.exit_code == kUnusable) throw BadInput(last_line(done.error_text));
    if (done.exit_code != kNoLibrary && done.exit_code != kNoProgram) {
      return {{}, {missing + ": " + done.words(kTimeout)}, true};
    }
  }
  return {{}, {"no Python with matplotlib or Bokeh: " + missing}, false};
}

}  // namespace

Drawn draw(const std::vector<fs::path>& results_dirs, const fs::path& page) {
  std::error_code fault;
  std::vector<std::string> arguments;
  for (const auto& folder : results_dirs) {
    if (!fs::is_directory(folder, fault)) {
      throw BadInput(fmt::format("{}: no such results folder", folder.string()));
    }
    arguments.push_back(fs::absolute(folder).string());
  }
  const auto program = fs::read_symlink("/proc/self/exe", fault);
  if (!fault) arguments.insert(arguments.end(), {"--roofline", program.string()});
  if (!page.empty()) arguments.insert(arguments.end(), {"--out", fs::absolute(page).string()});
  return run_script("report.py", arguments, "no pictures, no page");
}

Drawn draw_prediction(const std::string& kind, const fs::path& csv) {
  return run_script("draw_prediction.py", {kind, fs::absolute(csv).string()}, "no pictures");
}

}  // namespace roofline
