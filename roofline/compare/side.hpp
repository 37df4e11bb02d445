// One side of a comparison: one results folder or several of the same build and machine.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace roofline::compare {

/// What one run gives for a ceiling or a benchmark.
struct Figure {
  double value = 0;        ///< FLOP/s, bytes/s, or seconds of a call
  double best = 0;         ///< the same, of the fastest quiet sample; NaN if none was
  bool is_time = false;    ///< smaller is better
  std::string unit;        ///< FLOP/s, OP/s, B/s or s
  double log_error = 0;    ///< standard error of the logarithm, from the samples
  bool few_quiet = false;  ///< too few quiet samples, so that all of them count
  bool in_core = false;    ///< of a core alone: a peak, L1, L2
};

/// Fields of run.json in which the runs of a side should agree.
inline constexpr const char* kOfRun[] = {"builds", "suite"};

struct Run {
  std::string folder;
  nlohmann::json machine;                  ///< machine.json
  nlohmann::json context;                  ///< Google Benchmark's, of one file, and kOfRun
  std::map<std::string, Figure> ceilings;  ///< by device and Ceiling::id()
  std::map<std::string, Figure>
      benchmarks;  ///< by device and name; probes are left to the ceilings
};

/// A results folder, or a folder that holds results folders. A figure is the first quartile of the
/// counted samples' times (quiet ones, where there are enough): what disturbs a run only adds time,
/// and over runs of one build the quartile scattered half as far as the median did, the fastest
/// quiet sample a quarter. Throws BadInput naming what is missing or unusable.
std::vector<Run> read_side(const std::filesystem::path& folder);

}  // namespace roofline::compare
