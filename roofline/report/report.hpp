// The pictures and the page of a results folder, and the pictures of predictions. Python makes
// them; this finds a Python that can.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roofline {

struct Drawn {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> notes;  ///< what was left out and why, one line each; empty if nothing
  bool broke = false;              ///< what draws ended in an error of its own, which a note tells
};

/// Draws roofline.svg, roofline.png, sweep.svg and sweep.png into the first results folder from its
/// ceilings.csv, roofline.csv and sweep.csv, and writes its page: report.html in that folder, or
/// `page` if it is not empty, with the other folders shown beside it. Older files are replaced. A
/// machine that cannot (no Python with matplotlib or Bokeh, no script) is a note. Throws BadInput
/// if there is no such folder, a CSV is unusable (file, line and column are named) or a file cannot
/// be written.
Drawn draw(const std::vector<std::filesystem::path>& results_dirs,
           const std::filesystem::path& page = {});

/// Draws a CSV of `roofline predict sweep KIND` (batch or serve) into .svg and .png beside it,
/// likewise.
Drawn draw_prediction(const std::string& kind, const std::filesystem::path& csv);

}  // namespace roofline
