#include "roofline/base/say.hpp"

#include <csignal>
#include <cstdio>
#include <ctime>

namespace roofline {

void say_text(std::string_view text) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  const timespec now{};
  ::sigtimedwait(&pipe, nullptr, &now);  // takes away the one that we caused
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace roofline
