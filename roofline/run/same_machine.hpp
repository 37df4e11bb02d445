// Whether a run may be gone on with here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace roofline {

/// The first field of two machine.json that says they are of different machines, with both values;
/// empty: none does. A field that one of them lacks says nothing. GPUs only `with_gpus`.
std::string machine_difference(const nlohmann::json& then, const nlohmann::json& now,
                               bool with_gpus);

}  // namespace roofline
