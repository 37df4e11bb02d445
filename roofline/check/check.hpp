// `roofline check`: is this box what was advertised, and can its figures be trusted?
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "roofline/check/box.hpp"
#include "roofline/check/finding.hpp"
#include "roofline/check/resource.hpp"

namespace roofline::check {

struct Report {
  std::string machine, folder;
  std::string gpu;  ///< name of the one that was measured; empty if none is known
  std::optional<std::size_t> gpu_index;  ///< among the machine's, if a GPU was measured
  std::vector<Resource> resources;
  std::vector<Finding> findings;           ///< of all audits, the good ones too
  std::vector<std::string> run;            ///< what is to be known of the run itself, run_notes()
  std::vector<std::string> notes;          ///< what was left out and why
  Grade verdict = Grade::kUnknown;         ///< the worst of all; a note does not count
  double price_per_hour = kUnknownNumber;  ///< dollars for the box, which only its user knows
};

/// Judges a box. A resource that is not PASS gets the findings that can hold it back as causes.
Report check(const Box& box, const std::vector<Box>& others);

/// The same for a results folder, held against the folders of the same machine (for a GPU's
/// resources: with the same GPU) under `root`, or beside `folder` if `root` is empty, and `more`.
/// Throws BadInput naming what is missing or unusable; an unusable folder beside it is a note.
Report check_folder(const std::filesystem::path& folder, const std::filesystem::path& root,
                    const std::vector<std::filesystem::path>& more = {});

std::string text_of(const Report& report);
nlohmann::json json_of(const Report& report);

}  // namespace roofline::check
