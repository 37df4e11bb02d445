#include "roofline/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

namespace roofline {
namespace {

constexpr rlim_t kLargestFile = rlim_t{256} << 20;
constexpr std::size_t kErrorTail = 2000;

bool g_interrupted = false;
int g_guards = 0;
sigset_t g_old_mask;

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGCHLD}) sigaddset(&set, s);
  return set;
}

/// Waits for a watched signal for up to `seconds`.
void wait_for_signal(double seconds) {
  const sigset_t set = watched();
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  const int got = sigtimedwait(&set, nullptr, &time);
  if (got == SIGINT || got == SIGTERM) g_interrupted = true;
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
                         pid_t parent) {
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

Outcome run_guarded(const Command& command, const std::function<void()>& tick) {
  Capture output("stdout"), error_text("stderr");
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
    if (!replaced) environment.push_back(*entry);
  }
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (child == 0) {
    become(arguments.data(), environment.data(), command.keep_output ? output.file() : -1,
           error_text.file(), parent);
  }
  ::setpgid(child, child);  // in both, so that it holds whichever runs first

  Outcome out;
  int status = 0;
  double next_tick = 1;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    const double now = elapsed();
    if (now >= command.timeout_s || g_interrupted) {
      out.timed_out = !g_interrupted;
      out.interrupted = g_interrupted;
      ::kill(-child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    if (tick && now >= next_tick) {
      tick();
      next_tick = now + 1;
    }
    // SIGCHLD of this child ends the wait at once.
    const double until = tick ? std::min(next_tick, command.timeout_s) : command.timeout_s;
    wait_for_signal(std::max(0.001, until - elapsed()));
  }
  ::kill(-child, SIGKILL);  // whatever it has left behind
  out.seconds = elapsed();
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) out.signal = WTERMSIG(status);
  if (command.keep_output) out.output = output.text(kLargestFile);
  out.error_text = error_text.text(kErrorTail);
  return out;
}

}  // namespace

SignalGuard::SignalGuard() {
  if (g_guards++ > 0) return;
  g_interrupted = false;
  const sigset_t set = watched();
  ::sigprocmask(SIG_BLOCK, &set, &g_old_mask);
}

SignalGuard::~SignalGuard() {
  if (--g_guards > 0) return;
  // One that is still pending was meant for the guarded work, not for what comes after it.
  const sigset_t set = watched();
  const timespec now{};
  while (::sigtimedwait(&set, nullptr, &now) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &g_old_mask, nullptr);
}

bool SignalGuard::interrupted() {
  sigset_t pending;
  ::sigpending(&pending);
  if (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM)) wait_for_signal(0);
  return g_interrupted;
}

std::string Outcome::words(double timeout_s) const {
  if (interrupted) return "interrupted";
  if (timed_out) return fmt::format("no end after {:g} s, killed", timeout_s);
  const std::string last = last_line(error_text);
  const std::string tail = last.empty() ? "" : ": " + last;
  if (signal != 0) {
    const char* name = ::sigabbrev_np(signal);
    return fmt::format("killed by {}{}{}", name ? "SIG" : "signal ",
                       name ? name : std::to_string(signal), tail);
  }
  return fmt::format("exit code {}{}", exit_code, tail);
}

Outcome run_process(const Command& command, const std::function<void()>& tick) {
  Outcome out;
  {
    SignalGuard guard;
    out = run_guarded(command, tick);
  }
  if (out.interrupted && g_guards == 0) ::raise(SIGINT);  // nobody above is waiting for it
  return out;
}

}  // namespace roofline
