// One run at a time on the way between host and GPUs.
#pragma once

#include <filesystem>

#include "roofline/base/process.hpp"

namespace roofline {

/// Held while a link is measured: GPUs share root ports and the host's memory, so runs into folders
/// of one root (`--gpu all` above all) take turns. The constructor waits for the others, until one
/// of `signals` has come; where `root` cannot be locked, for nobody.
class LinkTurn {
 public:
  LinkTurn(const std::filesystem::path& root, SignalGuard& signals);
  ~LinkTurn();
  LinkTurn(const LinkTurn&) = delete;
  LinkTurn& operator=(const LinkTurn&) = delete;

 private:
  int lock_;
};

}  // namespace roofline
