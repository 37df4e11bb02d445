#include "roofline/base/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "roofline/base/error.hpp"

namespace roofline {

void open_closed_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // takes the lowest that is free
  }
}

void check_stdout() {
  errno = 0;
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (printed && std::cout.flush().good()) return;
  throw BadInput(
      fmt::format("cannot write to stdout: {}", std::strerror(errno != 0 ? errno : EIO)));
}

}  // namespace roofline
