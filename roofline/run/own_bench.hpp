// A Google Benchmark program of the user's own in a run: it knows none of our flags.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "roofline/run/run_plan.hpp"

namespace roofline {

/// What the program lists. The first benchmark that `filter` chooses, a regular expression or
/// empty, is run for a moment, so that a program whose rows cannot be analysed is found before the
/// ceilings are measured. Throws BadInput naming the program: not there, not executable, no Google
/// Benchmark program, crashes, no end within `timeout_s`, no counters, or a name that only probes
/// may have.
std::vector<ListedBenchmark> list_own(
    const std::filesystem::path& program, const std::string& filter, double timeout_s,
    const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace roofline
