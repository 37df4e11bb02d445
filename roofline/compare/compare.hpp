// `roofline compare`: two boxes, two dates or two builds, and what of their difference is real.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "roofline/compare/difference.hpp"
#include "roofline/compare/side.hpp"

namespace roofline::compare {

struct Entry {
  std::string kind;  ///< ceiling or benchmark
  std::string name;
  std::string unit;
  double a = 0, b = 0;                            ///< geometric means over the runs
  bool few_quiet_a = false, few_quiet_b = false;  ///< in one of its runs
  Difference difference;
};

/// A field of machine.json, of run.json or of Google Benchmark's context that differs between the
/// first runs.
struct Change {
  std::string field;
  nlohmann::json a, b;
};

struct Comparison {
  std::string a, b;  ///< the folders
  std::size_t runs_a = 0, runs_b = 0;
  std::vector<Entry> entries;          ///< ceilings first
  std::size_t only_a = 0, only_b = 0;  ///< ceilings and benchmarks that not every run of both has
  Outcome outcome;                     ///< without its `each`
  Limits limits;
  std::vector<std::string> mixed;  ///< what the runs of a side differ in, a line each
  std::vector<Change> changes;

  /// Whether a real difference, of one entry or of the whole, is below `ratio`.
  bool any_below(double ratio) const;
};

/// What ran on all cores of each side is compared under the name threads:all where their numbers
/// differ. Throws BadInput if the sides have nothing in common.
Comparison compare(const std::string& name_a, std::vector<Run> a, const std::string& name_b,
                   std::vector<Run> b);

std::string text_of(const Comparison& comparison);
nlohmann::json json_of(const Comparison& comparison);

}  // namespace roofline::compare
