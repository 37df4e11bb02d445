// The samples of a results folder, packed or not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "roofline/base/error.hpp"
#include "roofline/base/process.hpp"

namespace roofline {

/// A folder with the bench/*.json of a results folder: that folder, or where it has them as
/// bench.tar.xz, as committed runs do, a temporary one, gone with this: while it is there, Ctrl-C
/// waits.
class Unpacked {
 public:
  /// Throws BadInput where tar cannot unpack the archive or there is no room for it. Needs
  /// POSIX sh, tar and xz only for what is packed.
  explicit Unpacked(const std::filesystem::path& folder);
  ~Unpacked();
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// What `read` makes of that folder. A BadInput that names a file of an archive is thrown anew
  /// with the archive and its member, which the user has.
  template <class Read>
  auto read(Read read) const {
    try {
      return read(path_);
    } catch (const BadInput& fault) {
      throw BadInput(in_archive(fault.what()));
    }
  }

 private:
  /// What was unpacked, and then lets a Ctrl-C through that has come meanwhile.
  void remove();
  std::string in_archive(std::string words) const;

  std::optional<SignalGuard> guard_;      ///< where something is packed
  std::filesystem::path path_, archive_;  ///< archive_ is empty where nothing is packed
};

/// Whether there are any, packed or not.
bool has_samples(const std::filesystem::path& folder);

}  // namespace roofline
