// What a benchmark's name tells.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Fills what `row.name` tells, and leaves of the name what `benchmark_name` does. Ours is
/// op/variant/dtype/key:value/…, the variant no number and no dtype; of anyone else's the arguments
/// (numbers, key:value) are the shape and the rest the kernel, but for a dtype behind the first
/// part. Returns what is wrong with it.
std::optional<std::string> read_name(Benchmark& row);

/// A name without what Google Benchmark appends to it (/real_time and the like).
std::string benchmark_name(std::string_view name);

/// The same, cut at each '/'.
std::vector<std::string> name_parts(std::string_view name);

/// A count above 0, and nothing else.
std::optional<int> positive_int(std::string_view text);

}  // namespace roofline
