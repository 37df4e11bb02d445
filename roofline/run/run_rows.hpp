// The rows of a results folder's bench/*.json, as they are kept.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace roofline {

/// Of rows of one benchmark. Null if there is none: an error carries no counters that later rows
/// could leave out.
nlohmann::json* first_sample(nlohmann::json& rows);

/// A later sample leaves its label out: the first one tells for what reasons any was throttled.
void add_reasons(nlohmann::json& first, const nlohmann::json& row);

/// Leaves out of a row what tells nothing, and of a later sample what its first one says.
void shorten(nlohmann::json& row, bool later);

/// Google Benchmark's format with one row a line; `context` may be null.
std::string file_text(const nlohmann::json& context, const nlohmann::json& rows);

}  // namespace roofline
