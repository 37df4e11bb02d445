// The samples of a results folder, packed or not.
#pragma once

#include <filesystem>

namespace roofline {

/// A folder with the bench/*.json of a results folder: that folder, or where it has them as
/// bench.tar.xz, as committed runs do, a temporary one, gone with this.
class Unpacked {
 public:
  /// Throws BadInput where tar cannot unpack the archive or there is no room for it. Needs
  /// POSIX sh, tar and xz only for what is packed.
  explicit Unpacked(const std::filesystem::path& folder);
  ~Unpacked();
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool temporary_ = false;
};

/// Whether there are any, packed or not.
bool has_samples(const std::filesystem::path& folder);

}  // namespace roofline
