// The machine's state over time, for trace.csv.
#pragma once

#include <filesystem>
#include <string>

#include "roofline/base/csv.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/machine/package_power.hpp"

namespace roofline {

class Trace {
 public:
  /// Continues the file's rows, if it exists. `gpus` may be null: only the CPU then.
  Trace(std::filesystem::path file, const machine::GpuWatch* gpus);
  /// One row per device. An unreadable figure stays empty.
  void sample(double time_s, const std::string& during);
  /// Throws BadInput if it cannot be written.
  void write() const { table_.write(file_); }

 private:
  std::filesystem::path file_;
  CsvTable table_;
  const machine::GpuWatch* gpus_;
  machine::PackagePower package_power_;
  double offset_s_ = 0;            ///< of the rows that were there before
  double ticks_ = 0, stolen_ = 0;  ///< of all CPUs at the sample before
};

}  // namespace roofline
