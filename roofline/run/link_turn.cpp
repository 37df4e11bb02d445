#include "roofline/run/link_turn.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace roofline {

LinkTurn::LinkTurn(const std::filesystem::path& root, SignalGuard& signals)
    : lock_(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  while (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         !signals.interrupted()) {
    ::usleep(20'000);
  }
}

LinkTurn::~LinkTurn() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace roofline
