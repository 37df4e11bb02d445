// Names of element types, as they stand in benchmark names and CSVs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofline {

/// The name this suite uses for a type: "f32" for itself, "fp32" and "float32"; "s8" for "int8";
/// mixed types by parts ("bf16xint8" is "bf16xs8"). Empty if it is not an element type.
std::optional<std::string> canonical_dtype(std::string_view name);

/// Bytes of one element as it lies in memory, 0.5 for 4-bit types; NaN for a mixed or unknown name.
/// tf32 is stored as f32.
double element_bytes(std::string_view dtype);

/// The one with the larger elements; the first if both are of a size.
std::string wider_dtype(std::string_view first, std::string_view second);

}  // namespace roofline
