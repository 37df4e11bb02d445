// Several boxes, or the GPUs of one: who is slower than the others, and by how much.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "roofline/check/check.hpp"

namespace roofline::check {

/// One resource of several boxes.
struct Comparison {
  Resource resource;           ///< of the first box that has it
  double median = 0;           ///< over the boxes
  std::vector<double> shares;  ///< box / median (median / box of a latency); NaN: not measured
};

struct SideBySide {
  std::vector<std::string> names;     ///< "GPU 3" of one machine's GPUs, else "1", "2", …
  std::vector<Comparison> rows;       ///< of what two boxes or more have, in the first one's order
  std::vector<std::size_t> slowest;   ///< the row of a box's least share; rows.size(): none
  std::vector<std::size_t> in_order;  ///< boxes by their least share, the slowest first
};

/// check_folder() for each, held against the others, too.
std::vector<Report> check_folders(const std::vector<std::filesystem::path>& folders,
                                  const std::filesystem::path& root);

SideBySide side_by_side(const std::vector<Report>& reports);

/// The worst verdict.
Grade verdict_of(const std::vector<Report>& reports);

/// A line for each box, the slowest first, then every resource's shares.
std::string text_of(const std::vector<Report>& reports);
/// {"verdict", "boxes": [json_of(report)…], "side_by_side": [{"key", "median", "shares"}…]}.
nlohmann::json json_of(const std::vector<Report>& reports);

}  // namespace roofline::check
