// What the CPU's packages draw, by their energy counters (RAPL).
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace roofline::machine {

/// Counters below /sys/class/powercap: Intel's and AMD's, where a virtual machine has none and only
/// root may read them.
class PackagePower {
 public:
  explicit PackagePower(std::filesystem::path root = "/");
  /// Watts of all packages since the call before; NaN at the first one, and where a package cannot
  /// be read.
  double since_last(double time_s);

 private:
  std::filesystem::path zones_;
  std::map<std::string, double> joules_;  ///< of each package at the call before
  double time_s_ = 0;
};

}  // namespace roofline::machine
