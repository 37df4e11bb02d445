#include "roofline/base/at_once.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <list>
#include <system_error>

#include "roofline/base/process.hpp"

namespace roofline {
namespace {

constexpr int kLook_ms = 200;                    // how late an interrupt may be seen
constexpr std::chrono::seconds kOneShutdown{1};  // in which several signals are one interrupt

[[noreturn]] void become(char* const* arguments, int err, const sigset_t& mask, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

/// One of them; killed and waited for at the latest when this ends.
class Worker {
 public:
  Worker(const std::vector<std::string>& command, const sigset_t& mask) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
      arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    const pid_t parent = ::getpid();
    process_ = ::fork();
    const int fault = errno;
    if (process_ == 0) become(arguments.data(), ends[1], mask, parent);
    ::close(ends[1]);
    words_ = ends[0];
    if (process_ < 0) {
      ::close(words_);
      throw std::system_error(fault, std::generic_category(), "cannot start a process");
    }
    ::setpgid(process_, process_);  // in both, so that it holds whichever runs first
  }

  ~Worker() {
    if (process_ > 0) {
      ::kill(-process_, SIGKILL);
      wait();
    }
    ::close(words_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int words() const { return words_; }
  bool silent() const { return silent_; }
  void stop() const { ::kill(process_, SIGTERM); }
  void end() const { ::kill(-process_, SIGKILL); }

  /// Reads what there is; `line` gets every whole line, and the rest when it has closed its end.
  template <class Line>
  void hear(const Line& line) {
    std::array<char, 4096> piece{};
    const ssize_t got = ::read(words_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) return;
    silent_ = got <= 0;
    if (silent_) {
      if (!text_.empty()) line(std::string_view(text_));
      return;
    }
    text_.append(piece.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos;) {
      line(std::string_view(text_).substr(begin, end - begin));
      begin = end + 1;
    }
    text_.erase(0, begin);
  }

  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = -1;
  int words_ = -1;
  bool silent_ = false;  ///< has closed its end
  std::string text_;     ///< the beginning of its next line
};

}  // namespace

std::vector<int> run_at_once(const std::vector<std::vector<std::string>>& commands,
                             const std::function<void(std::size_t, std::string_view)>& hear) {
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  SignalGuard signals;
  std::list<Worker> workers;
  for (const auto& command : commands) workers.emplace_back(command, mask);
  const auto all_silent = [&] {
    return std::all_of(workers.begin(), workers.end(), [](const Worker& w) { return w.silent(); });
  };
  int heeded = 0;  // interrupts; a later one does not wait for them
  std::chrono::steady_clock::time_point first_at;
  while (!all_silent()) {
    std::vector<pollfd> files;
    // One that is silent has a file that poll() passes over.
    for (const Worker& worker : workers) {
      files.push_back({worker.silent() ? -1 : worker.words(), POLLIN, 0});
    }
    ::poll(files.data(), files.size(), kLook_ms);
    const int interrupts = signals.interrupts();
    if (interrupts > heeded) {
      const bool first = heeded == 0;
      if (first) first_at = std::chrono::steady_clock::now();
      const bool again = std::chrono::steady_clock::now() - first_at > kOneShutdown;
      for (const Worker& worker : workers) {
        if (first) worker.stop();
        if (again) worker.end();
      }
      heeded = interrupts;
    }
    std::size_t i = 0;
    for (Worker& worker : workers) {
      if (files[i].revents != 0) worker.hear([&](std::string_view line) { hear(i, line); });
      ++i;
    }
  }
  std::vector<int> out;
  for (Worker& worker : workers) out.push_back(worker.wait());
  return out;
}

}  // namespace roofline
