#include "roofline/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>

#include "roofline/error.hpp"

extern char** environ;

namespace roofline {
namespace {

namespace fs = std::filesystem;

// Exit codes of draw_roofline.py.
constexpr int kUnusable = 2;
constexpr int kNoMatplotlib = 3;
// What posix_spawnp's child exits with if the program is not there.
constexpr int kNoProgram = 127;

fs::path executable_folder() {
  std::error_code fault;
  const auto path = fs::read_symlink("/proc/self/exe", fault);
  return fault ? fs::path{} : path.parent_path();
}

/// scripts/report of the source tree, or where an installed copy or ROOFLINE_REPORT has it.
std::optional<fs::path> script() {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("ROOFLINE_REPORT")) folders.emplace_back(named);
  const auto bin = executable_folder();
  folders.push_back(bin / "../../scripts/report");
  folders.push_back(bin / "../share/roofline/report");
  for (const auto& folder : folders) {
    std::error_code fault;
    const auto path = fs::weakly_canonical(folder / "draw_roofline.py", fault);
    if (!fault && fs::exists(path, fault)) return path;
  }
  return std::nullopt;
}

struct Output {
  int exit_code;
  std::string text;  ///< stdout and stderr
};

/// Runs a program without a shell, as folder names may hold anything, and waits for it.
Output run(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {kNoProgram, std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int fault =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Output output{kNoProgram, {}};
  if (fault == 0) {
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);) {
      if (n > 0) output.text.append(buffer, static_cast<std::size_t>(n));
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return output;
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
      drawn.note = line;
    }
  }
  return drawn;
}

}  // namespace

Drawn draw(const fs::path& results_dir) {
  std::error_code fault;
  if (!fs::is_directory(results_dir, fault)) {
    throw BadInput(fmt::format("{}: no such results folder", results_dir.string()));
  }
  const auto drawer = script();
  if (!drawer) return {{}, "scripts/report not found beside the program: pictures skipped"};
  const auto bin = executable_folder();
  const std::string pythons[] = {
      (bin / "../venv/bin/python3").string(),
      (drawer->parent_path() / "../../build/venv/bin/python3").string(),
      "python3",
  };
  const auto folder = fs::absolute(results_dir).string();
  for (const auto& python : pythons) {
    const auto output = run({python, drawer->string(), folder});
    if (output.exit_code == 0) return read_output(output.text);
    if (output.exit_code == kUnusable) throw BadInput(last_line(output.text));
    if (output.exit_code != kNoMatplotlib && output.exit_code != kNoProgram) {
      return {{}, fmt::format("pictures skipped: {}", last_line(output.text))};
    }
  }
  return {{}, "no Python with matplotlib: pictures skipped"};
}

}  // namespace roofline
