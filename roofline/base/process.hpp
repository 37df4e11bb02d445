// Child processes: watched, bounded in time, and never outliving their parent.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace roofline {

/// While one lives, SIGINT, SIGTERM and SIGHUP (unless it was ignored) end no more than the child
/// at work: they are taken by run_in_turns() and interrupted(). Afterwards the old signal mask and
/// actions are back, but for SIGHUP, which is ignored once it has come. May be nested.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  /// A SIGINT, SIGTERM or SIGHUP has come since the guard was set up.
  bool interrupted() { return interrupts() > 0; }
  /// How many have, as far as they were asked for one by one.
  int interrupts();
};

struct Command {
  std::vector<std::string> arguments;                            ///< [0] is the program's path
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the parent's
  double timeout_s = 60;                                         ///< of its own work
  bool keep_output = false;  ///< stdout into Outcome::output, else it is thrown away
  bool own = false;          ///< a program of the user's: the shell's OpenMP settings are for it
};

struct Outcome {
  int exit_code = -1;  ///< -1 unless it is known to have exited by itself
  int signal = 0;      ///< the one that ended it
  bool timed_out = false;
  bool interrupted = false;  ///< ended because this process got such a signal
  double seconds = 0;        ///< of its own work
  std::string output;        ///< stdout, if kept
  std::string error_text;    ///< the end of stderr

  bool clean() const { return exit_code == 0; }
  /// "exit code 3: <last line of stderr>", "killed by SIGSEGV", "no end after 60 s" …
  std::string words(double timeout_s) const;
};

/// The socket over which a program takes turns with others: it writes a byte to ask for its next
/// one, and reads a byte when it has it.
inline constexpr int kTurnsFile = 3;

/// Starts the commands one after the other, each in its own process group, then lets one at a time
/// work until it asks for its next turn; the others are stopped meanwhile. One that never asks
/// works to its end at once, and so does a single command. `tick` is called about once a second; no
/// command is charged with its time, nor with that for which this process is stopped. On timeout
/// the command's whole group is killed, on interrupt those of all. A child writes at most 256 MB
/// into one file, so that one that prints garbage for ever ends. Without a SignalGuard around it an
/// interrupt ends this process too. Throws std::system_error if no process can be made; a program
/// that cannot be started exits with 127. Outcomes are in the commands' order.
std::vector<Outcome> run_in_turns(const std::vector<Command>& commands,
                                  const std::function<void()>& tick = {});

/// run_in_turns of one.
Outcome run_process(const Command& command, const std::function<void()>& tick = {});

}  // namespace roofline
