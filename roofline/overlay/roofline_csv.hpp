// roofline.csv.
#pragma once

#include <vector>

#include "roofline/base/csv.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/overlay/point.hpp"

namespace roofline {

CsvTable roofline_table(const std::vector<Point>& points, const CeilingContext& context);
/// The counted points follow the others.
CsvTable roofline_table(std::vector<Point> points, const std::vector<Point>& counted,
                        const CeilingContext& context);

}  // namespace roofline
