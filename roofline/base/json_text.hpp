// JSON text, with a word on where it stops being any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace roofline {

/// Any JSON text, with the bare NaN and Infinity that Google Benchmark prints taken as null. Throws
/// BadInput with the line and the byte at which it stops being JSON.
nlohmann::json parse_json(std::string_view text, const std::string& source);

/// null for a number that is not finite, and for an empty text: unknown.
nlohmann::json known(double value);
nlohmann::json known(const std::string& text);

/// For people and programs, in lines. Bytes that are no UTF-8, as a folder's name may have, become
/// U+FFFD.
template <class Json>
std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace roofline
