// ceilings.csv and sweep.csv.
#pragma once

#include <filesystem>
#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/ceilings/ceilings.hpp"

namespace roofline {

CsvTable ceilings_table(const std::vector<Ceiling>& rows);
CsvTable sweep_table(const std::vector<SweepPoint>& rows, const CeilingContext& context);
/// Throws BadInput naming file, line and column; also of two machines' rows, or of figures that do
/// not lie in their own interval.
std::vector<Ceiling> read_ceilings(const std::filesystem::path& path);

}  // namespace roofline
