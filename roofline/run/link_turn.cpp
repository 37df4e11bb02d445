#include "roofline/run/link_turn.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace roofline {
namespace {

constexpr useconds_t kLook_us = 20'000;
constexpr int kLooks = 60'000'000 / kLook_us;  // a minute of them

}  // namespace

LinkTurn::LinkTurn(const std::filesystem::path& root, SignalGuard& signals,
                   const std::function<void()>& long_wait)
    : lock_(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  int looks = 0;
  while (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         !signals.interrupted()) {
    ::usleep(kLook_us);
    if (++looks == kLooks) long_wait();
  }
}

LinkTurn::~LinkTurn() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace roofline
