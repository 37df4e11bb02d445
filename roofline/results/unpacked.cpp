#include "roofline/results/unpacked.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace roofline {
namespace {

namespace fs = std::filesystem;

fs::path archive_of(const fs::path& folder) { return folder / "bench.tar.xz"; }

bool is_unpacked(const fs::path& folder) {
  std::error_code none;
  return fs::is_directory(folder / "bench", none);
}

}  // namespace

bool has_samples(const fs::path& folder) {
  std::error_code none;
  return is_unpacked(folder) || fs::exists(archive_of(folder), none);
}

Unpacked::Unpacked(const fs::path& folder) : path_(folder) {
  const fs::path archive = archive_of(folder);
  std::error_code none;
  if (is_unpacked(folder) || !fs::exists(archive, none)) return;
  guard_.emplace();
  std::string name = (fs::temp_directory_path() / "roofline-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw BadInput(fmt::format("{}: {}", name, std::strerror(errno)));
  path_ = name;
  archive_ = archive;
  const Command unpack{.arguments = {"/bin/sh", "-c", "exec tar -xJf \"$1\" -C \"$2\" bench", "sh",
                                     archive.string(), name},
                       .timeout_s = 120};
  const Outcome outcome = run_process(unpack);
  if (outcome.clean()) return;
  remove();
  throw BadInput(fmt::format("{}: cannot be unpacked: tar: {}", archive.string(),
                             outcome.words(unpack.timeout_s)));
}

Unpacked::~Unpacked() {
  if (!archive_.empty()) remove();
}

void Unpacked::remove() {
  std::error_code none;
  fs::remove_all(path_, none);
  const bool interrupted = guard_->interrupted();
  guard_.reset();
  if (interrupted) ::raise(SIGINT);
}

std::string Unpacked::in_archive(std::string words) const {
  const std::string folder = path_.string() + "/";
  if (!archive_.empty() && words.starts_with(folder))
    words.replace(0, folder.size(), archive_.string() + ": ");
  return words;
}

}  // namespace roofline
