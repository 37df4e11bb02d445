// One child process: watched, bounded in time, and never outliving its parent.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace roofline {

/// While one lives, SIGINT and SIGTERM end no more than the child at work: they are taken by
/// run_process() and interrupted(). Afterwards the old signal mask is back. May be nested.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  /// A SIGINT or SIGTERM has come since the guard was set up.
  bool interrupted();
};

struct Command {
  std::vector<std::string> arguments;                            ///< [0] is the program's path
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the parent's
  double timeout_s = 60;
  bool keep_output = false;  ///< stdout into Outcome::output, else it is thrown away
};

struct Outcome {
  int exit_code = -1;  ///< -1 unless it exited by itself
  int signal = 0;      ///< the one that ended it
  bool timed_out = false;
  bool interrupted = false;  ///< ended because this process got SIGINT or SIGTERM
  double seconds = 0;
  std::string output;      ///< stdout, if kept
  std::string error_text;  ///< the end of stderr

  bool clean() const { return exit_code == 0; }
  /// "exit code 3: <last line of stderr>", "killed by SIGSEGV", "no end after 60 s" …
  std::string words(double timeout_s) const;
};

/// Runs the command in its own process group and waits for it. `tick` is called about once a
/// second. On timeout or interrupt the whole group is killed. A child writes at most 256 MB into
/// one file, so that one that prints garbage for ever ends. Without a SignalGuard around it an
/// interrupt ends this process too. Throws std::system_error if no process can be made; a program
/// that cannot be started exits with 127.
Outcome run_process(const Command& command, const std::function<void()>& tick = {});

}  // namespace roofline
