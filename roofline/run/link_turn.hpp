// One run at a time on the way between host and GPUs.
#pragma once

#include <filesystem>
#include <functional>

#include "roofline/base/process.hpp"

namespace roofline {

/// Held while a link is measured: GPUs share root ports and the host's memory, so runs into folders
/// of one root (`--gpu all` above all) take turns. The constructor waits for the others, until one
/// of `signals` has come, and calls `long_wait` once that takes longer than a link does; where
/// `root` cannot be locked, for nobody.
class LinkTurn {
 public:
  LinkTurn(const std::filesystem::path& root, SignalGuard& signals,
           const std::function<void()>& long_wait);
  ~LinkTurn();
  LinkTurn(const LinkTurn&) = delete;
  LinkTurn& operator=(const LinkTurn&) = delete;

 private:
  int lock_;
};

}  // namespace roofline
