// Names of element types, as they stand in benchmark names and CSVs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline {

/// The name this suite uses for a type: "f32" for itself, "fp32" and "float32"; "s8" for "int8";
/// mixed types by parts ("bf16xint8" is "bf16xs8"). Empty if it is not an element type.
std::optional<std::string> canonical_dtype(std::string_view name);

}  // namespace roofline
