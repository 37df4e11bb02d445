// From a results folder's bench/*.json to its CSVs.
#pragma once

#include <filesystem>
#include <vector>

#include "roofline/bench_json.hpp"
#include "roofline/ceilings.hpp"
#include "roofline/overlay.hpp"

namespace roofline {

struct Analysis {
  BenchData data;
  Ceilings ceilings;
  std::vector<Point> points;  ///< point into `data`
};

/// Reads what is measured so far and writes ceilings.csv, sweep.csv and roofline.csv beside it.
/// Throws BadInput naming the file that cannot be read or written.
Analysis analyze_folder(const std::filesystem::path& folder, const CeilingContext& context);

}  // namespace roofline
