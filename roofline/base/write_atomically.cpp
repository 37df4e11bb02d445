#include "roofline/base/write_atomically.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw BadInput(fmt::format("cannot write {}: {}", path.string(), std::strerror(error)));
}

}  // namespace

void write_atomically(const std::filesystem::path& given, std::string_view content, Sync sync) {
  // What a link leads to is written, and what is no file (/dev/stdout) is not replaced by one.
  std::error_code unknown;
  std::filesystem::path path = given;
  if (std::filesystem::is_symlink(given, unknown) && std::filesystem::exists(given, unknown)) {
    path = std::filesystem::canonical(given, unknown);
  }
  const auto kind = std::filesystem::status(given, unknown).type();
  if (kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::fifo) {
    std::ofstream out(given, std::ios::binary);
    if (!out.write(content.data(), static_cast<std::streamsize>(content.size())).flush())
      fail(given, errno != 0 ? errno : EIO);
    return;
  }
  // The process id keeps two writers apart; the same folder makes the rename atomic.
  auto temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  const auto give_up = [&] {
    const int error = errno;
    ::close(file);
    ::unlink(temporary.c_str());
    fail(path, error);
  };
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) give_up();
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  // EINVAL: a file that cannot be synced.
  if (sync == Sync::kToDisk && ::fsync(file) != 0 && errno != EINVAL) give_up();
  if (::close(file) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    fail(path, error);
  }
}

}  // namespace roofline
