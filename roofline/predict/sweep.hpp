// Predictions over many batches, as tables to draw.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/predict/operation.hpp"
#include "roofline/predict/serve.hpp"

namespace roofline::predict {

/// A matmul of this machine as it was measured.
struct MeasuredMatmul {
  std::int64_t b = 0, d = 0, f = 0;
  double flops_per_s = 0;
  std::string variant;
};

/// The fastest cold run on all cores of every matmul of `dtype` (as in roofline.csv; bf16xs8) in a
/// folder's roofline.csv; none if the folder has no such file. Cold, because only there all of the
/// compulsory bytes come from the main memory. Runs that are faster than their roof are left out.
/// Throws BadInput naming file, line and column.
std::vector<MeasuredMatmul> measured_matmuls(const std::filesystem::path& folder,
                                             const Hardware& hardware, const std::string& dtype);

/// Columns: kBatchSweepColumns. `shapes` are taken at every B from 1 to `most`.
struct BatchSweep {
  std::string hardware, dtype;
  std::vector<Matmul> shapes;
  std::int64_t most = 512;
  Roofs roofs;
  Given given;
  std::vector<MeasuredMatmul> measured;
};
CsvTable table(const BatchSweep& sweep);

/// Columns: kServeSweepColumns. Batches are 1, 2, 3, 4, 6, 8, 12 … up to `most`.
struct ServeSweep {
  std::string hardware, weights, kv;
  Serving base;
  std::vector<std::int64_t> contexts;
  std::int64_t most = 1024;
};
CsvTable table(const ServeSweep& sweep);

}  // namespace roofline::predict
