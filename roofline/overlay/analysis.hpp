// From a results folder's bench/*.json to its CSVs.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "roofline/ceilings/ceilings.hpp"
#include "roofline/overlay/point.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

struct Analysis {
  BenchData data;
  Ceilings ceilings;
  std::vector<Point> points;   ///< point into `data`
  std::vector<Point> counted;  ///< the same
};

/// Reads what is measured so far. A ceiling that a kernel or library exceeds gets the verdict
/// below-kernel. Throws BadInput naming the file that cannot be read.
Analysis analyze_folder(const std::filesystem::path& folder, const CeilingContext& context);

/// The benchmarks behind the ceilings whose verdict is not ok: to be measured again.
std::set<std::string> doubtful_probes(const Analysis& analysis);

/// ceilings.csv, sweep.csv and roofline.csv, and prediction.csv where a program was run. Throws
/// BadInput naming the file that cannot be written.
void write_tables(const Analysis& analysis, const std::filesystem::path& folder,
                  const CeilingContext& context);

}  // namespace roofline
