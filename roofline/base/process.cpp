#include "roofline/base/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <list>
#include <system_error>
#include <utility>

namespace roofline {
namespace {

constexpr rlim_t kLargestFile = rlim_t{256} << 20;
constexpr std::size_t kErrorTail = 2000;
constexpr double kStopped = 0.5;  // seconds that a wait is late: no busy machine, a stop

int g_interrupts = 0;         ///< a terminal that is gone counts once
bool g_heeds_hangup = false;  ///< not under nohup, which ignores it
bool g_hung_up = false;
int g_guards = 0;
sigset_t g_old_mask;
struct sigaction g_old_child;

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, s);
  if (g_heeds_hangup) sigaddset(&set, SIGHUP);
  return set;
}

/// Waits for a watched signal for up to `seconds`.
void wait_for_signal(double seconds) {
  const sigset_t set = watched();
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  const int got = sigtimedwait(&set, nullptr, &time);
  if (got == SIGINT || got == SIGTERM) ++g_interrupts;
  if (got == SIGHUP) {
    g_interrupts = std::max(1, g_interrupts);
    g_hung_up = true;
  }
}

/// An anonymous file: a child's text costs no disk and needs no reader while it runs.
class Capture {
 public:
  explicit Capture(const char* name) : file_(memfd_create(name, MFD_CLOEXEC)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  ~Capture() { ::close(file_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  int file() const { return file_; }
  /// The last `most` bytes.
  std::string text(std::size_t most) const {
    const off_t size = ::lseek(file_, 0, SEEK_END);
    if (size <= 0) return {};
    const auto length = std::min(static_cast<std::size_t>(size), most);
    std::string out(length, '\0');
    const ssize_t got = ::pread(file_, out.data(), length, size - static_cast<off_t>(length));
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return out;
  }

 private:
  int file_;
};

/// In the child: only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* arguments, char* const* environment, int out, int err,
                         int turns, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed parent takes its bench with it
  if (::getppid() != parent) ::_exit(127);
  const rlimit limit{kLargestFile, kLargestFile};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out >= 0 ? out : null, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (turns == kTurnsFile) ::fcntl(turns, F_SETFD, 0);
  if (turns >= 0) ::dup2(turns, kTurnsFile);
  ::sigprocmask(SIG_SETMASK, &g_old_mask, nullptr);
  ::execve(arguments[0], arguments, environment);
  const char* reason = ::strerrordesc_np(errno);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, reason, ::strlen(reason));
  ::_exit(127);
}

/// The last line of what may be anything, fit for one line of ours.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t newline = text.find_last_of('\n', end);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  std::string line = text.substr(begin, std::min<std::size_t>(end - begin + 1, 200));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return line;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Calls about once a second, however the time between is cut.
class Ticker {
 public:
  explicit Ticker(const std::function<void()>& tick) : tick_(tick) {}
  /// Seconds until the next call is due.
  double due_s() const { return tick_ ? 1 - seconds_since(last_) : 1e9; }
  void look() {
    if (due_s() > 0) return;
    const auto begin = Clock::now();
    tick_();
    last_ = Clock::now();
    spent_s_ += std::chrono::duration<double>(last_ - begin).count();
  }
  /// In all calls so far.
  double spent_s() const { return spent_s_; }

 private:
  const std::function<void()>& tick_;
  Clock::time_point last_ = Clock::now();
  double spent_s_ = 0;
};

/// A setting that the shell was left with and that is not for programs of this suite. OpenMP's:
/// OMP_PROC_BIND binds a program's first thread to one CPU before it can ask which ones it may use,
/// OMP_THREAD_LIMIT takes threads away. Google Benchmark's: they are given as flags.
bool is_for_others(std::string_view setting) {
  for (const char* prefix : {"OMP_", "GOMP_", "KMP_", "BENCHMARK_"}) {
    if (setting.starts_with(prefix)) return true;
  }
  return false;
}

/// A process in its own group, killed and waited for at the latest when this ends.
class Child {
 public:
  Child(const Command& command, bool in_turns) : command_(command) {
    std::vector<char*> arguments, environment;
    for (const std::string& argument : command.arguments) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    std::vector<std::string> settings;
    for (const auto& [name, value] : command.environment) settings.push_back(name + "=" + value);
    for (char** entry = environ; *entry; ++entry) {
      const bool replaced = std::any_of(
          command.environment.begin(), command.environment.end(), [&](const auto& setting) {
            return std::string_view(*entry).starts_with(setting.first + "=");
          });
      if (!replaced && (command.own || !is_for_others(*entry))) environment.push_back(*entry);
    }
    for (std::string& setting : settings) environment.push_back(setting.data());
    environment.push_back(nullptr);

    int ends[2] = {-1, -1};
    if (in_turns && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    turns_ = ends[0];
    const sigset_t set = watched();
    if (in_turns) signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      become(arguments.data(), environment.data(), command.keep_output ? output_.file() : -1,
             error_text_.file(), ends[1], parent);
    }
    const int fault = errno;
    if (ends[1] >= 0) ::close(ends[1]);
    if (process_ < 0) {
      leave_turns();
      throw std::system_error(fault, std::generic_category(), "cannot start a process");
    }
    ::setpgid(process_, process_);  // in both, so that it holds whichever runs first
  }

  ~Child() {
    if (!gone_) end();
    leave_turns();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool gone() const { return gone_; }

  /// Lets it work until it asks for its next turn, is gone, or has to go. Stopped in between: a
  /// library's threads may spin while they have nothing to do.
  void let_work(Ticker& ticker) {
    const auto start = Clock::now();
    const double ticked = ticker.spent_s();
    double lost_s = 0;  // while this process was stopped itself, by Ctrl-Z, and could not look
    const auto worked_s = [&] {
      return seconds_since(start) - (ticker.spent_s() - ticked) - lost_s;
    };
    if (waits_) {
      [[maybe_unused]] const ssize_t written = ::send(turns_, "", 1, MSG_NOSIGNAL);
      ::kill(-process_, SIGCONT);
      waits_ = false;
    }
    while (!waits_) {
      int status = 0;
      const double used = out_.seconds + worked_s();
      if (const pid_t ended = ::waitpid(process_, &status, WNOHANG); ended != 0) {
        finish(ended, status);
        break;
      }
      if (used >= command_.timeout_s || g_interrupts > 0) {
        out_.timed_out = g_interrupts == 0;
        out_.interrupted = g_interrupts > 0;
        end();
        break;
      }
      ticker.look();
      // Short waits, so that a long one can be told from a stop.
      const double wait_s =
          std::clamp(std::min(ticker.due_s(), command_.timeout_s - used), 0.001, 1.0);
      const auto begin = Clock::now();
      wait_for(wait_s);
      const double late_s = seconds_since(begin) - wait_s;
      if (late_s > kStopped) lost_s += late_s;
    }
    out_.seconds += worked_s();
    if (waits_) ::kill(-process_, SIGSTOP);
  }

  Outcome outcome() const {
    Outcome out = out_;
    if (command_.keep_output) out.output = output_.text(kLargestFile);
    out.error_text = error_text_.text(kErrorTail);
    return out;
  }

 private:
  /// Waits for a watched signal or for the child's word that it wants its next turn.
  void wait_for(double seconds) {
    if (turns_ < 0) return wait_for_signal(seconds);
    pollfd files[] = {{turns_, POLLIN, 0}, {signals_, POLLIN, 0}};
    ::poll(files, 2, static_cast<int>(std::ceil(1000 * seconds)));
    if (files[1].revents != 0) wait_for_signal(0);
    if (files[0].revents == 0) return;
    char word = 0;
    if (::recv(turns_, &word, 1, MSG_DONTWAIT) == 1) {
      waits_ = true;
    } else {
      leave_turns();  // it has closed its end: it knows no turns, or is about to be gone
    }
  }

  void end() {
    ::kill(-process_, SIGKILL);
    int status = 0;
    pid_t ended = -1;
    while ((ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
    }
    finish(ended, status);
  }

  /// `ended` is what waitpid() gave: below 0 nobody knows how the process ended.
  void finish(pid_t ended, int status) {
    gone_ = true;
    ::kill(-process_, SIGKILL);  // whatever it has left behind
    if (ended < 0) return;
    if (WIFEXITED(status)) out_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) out_.signal = WTERMSIG(status);
  }

  void leave_turns() {
    for (int* file : {&turns_, &signals_}) {
      if (*file >= 0) ::close(*file);
      *file = -1;
    }
  }

  const Command& command_;
  Capture output_{"stdout"}, error_text_{"stderr"};
  pid_t process_ = -1;
  int turns_ = -1;      ///< our end of the socket; -1: it runs to its end at once
  int signals_ = -1;    ///< readable when one has come
  bool waits_ = false;  ///< for its turn
  bool gone_ = false;
  Outcome out_;
};

}  // namespace

SignalGuard::SignalGuard() {
  if (g_guards++ > 0) return;
  g_interrupts = 0;
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  g_heeds_hangup = hangup.sa_handler != SIG_IGN;
  const sigset_t set = watched();
  ::sigprocmask(SIG_BLOCK, &set, &g_old_mask);
  // Ignored, as a parent may have left it, it would reap children before they can be asked how they
  // ended.
  const struct sigaction usual {};
  ::sigaction(SIGCHLD, &usual, &g_old_child);
}

SignalGuard::~SignalGuard() {
  if (--g_guards > 0) return;
  // One that is still pending was meant for the guarded work, not for what comes after it.
  const sigset_t set = watched();
  const timespec now{};
  for (int got = 0; (got = ::sigtimedwait(&set, nullptr, &now)) > 0;) {
    if (got == SIGHUP) g_hung_up = true;
  }
  ::sigaction(SIGCHLD, &g_old_child, nullptr);
  // The shell and the kernel both tell of a terminal that is gone: the second word must not end
  // what the first one left to be written.
  if (std::exchange(g_hung_up, false)) ::signal(SIGHUP, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &g_old_mask, nullptr);
}

int SignalGuard::interrupts() {
  sigset_t pending;
  ::sigpending(&pending);
  const bool hangup = g_heeds_hangup && sigismember(&pending, SIGHUP);
  if (hangup || sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM)) wait_for_signal(0);
  return g_interrupts;
}

std::string Outcome::words(double timeout_s) const {
  if (interrupted) return "interrupted";
  if (timed_out) return fmt::format("no end after {:g} s, killed", timeout_s);
  const std::string last = last_line(error_text);
  const std::string tail = last.empty() ? "" : ": " + last;
  if (signal != 0) {
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("killed by {}{}{}{}", name ? "SIG" : "signal ",
                       name ? name : std::to_string(signal),
                       signal == SIGILL ? " (an instruction that this CPU lacks)" : "", tail);
  }
  if (exit_code < 0) return "ended, nobody knows how" + tail;
  return fmt::format("exit code {}{}", exit_code, tail);
}

std::vector<Outcome> run_in_turns(const std::vector<Command>& commands,
                                  const std::function<void()>& tick) {
  std::vector<Outcome> out;
  {
    SignalGuard guard;
    Ticker ticker(tick);
    std::list<Child> children;
    for (const Command& command : commands) {
      children.emplace_back(command, commands.size() > 1).let_work(ticker);
    }
    bool working = true;
    while (working) {
      working = false;
      for (Child& child : children) {
        if (!child.gone()) child.let_work(ticker);
        working = working || !child.gone();
      }
    }
    for (const Child& child : children) out.push_back(child.outcome());
  }
  const bool interrupted =
      std::any_of(out.begin(), out.end(), [](const Outcome& o) { return o.interrupted; });
  if (interrupted && g_guards == 0) ::raise(SIGINT);  // nobody above is waiting for it
  return out;
}

Outcome run_process(const Command& command, const std::function<void()>& tick) {
  return run_in_turns({command}, tick).front();
}

}  // namespace roofline
