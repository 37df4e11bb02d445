// The pictures of a results folder and of predictions. Python draws them; this finds a Python that
// can.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roofline {

struct Drawn {
  std::vector<std::filesystem::path> files;
  std::string note;  ///< what was not drawn and why, one line; empty if all was
};

/// Draws roofline.svg, roofline.png, sweep.svg and sweep.png into a results folder from its
/// ceilings.csv, roofline.csv and sweep.csv, replacing older ones. A machine that cannot draw (no
/// Python with matplotlib, no script) is a note. Throws BadInput if there is no such folder, a CSV
/// is unusable (file, line and column are named) or a picture cannot be written. Needs a
/// SignalGuard.
Drawn draw(const std::filesystem::path& results_dir);

/// Draws a CSV of `roofline predict sweep KIND` (batch or serve) into .svg and .png beside it,
/// likewise.
Drawn draw_prediction(const std::string& kind, const std::filesystem::path& csv);

}  // namespace roofline
