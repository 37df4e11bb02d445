// What commands say of pictures and pages that were drawn.
#pragma once

#include <filesystem>

#include "roofline/report/report.hpp"

namespace roofline::cli {

/// The files, and what was left out, on stdout. Throws BadInput naming `of` where drawing broke.
void print_drawn(const Drawn& drawn, const std::filesystem::path& of);

}  // namespace roofline::cli
