// JSON text, with a word on where it stops being any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roofline {

/// Any JSON text, with the bare NaN and Infinity that Google Benchmark prints taken as null. Throws
/// BadInput with the line and the byte at which it stops being JSON.
nlohmann::json parse_json(std::string_view text, const std::string& source);

}  // namespace roofline
