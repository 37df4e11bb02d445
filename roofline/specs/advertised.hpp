// What vendors advertise for the parts of a machine, as far as the machine lets them be known.
#pragma once

#include <nlohmann/json.hpp>

namespace roofline {

/// Completes a machine's facts (machine::Machine::facts): `cpu.advertised` with the base clock if
/// the processor tells one (no vendor states peaks per clock and core count), `cpu.per_core_cycle`
/// with the spec table's rates, and `advertised` of each GPU with its chip's figures. What is not
/// known is null.
void add_advertised(nlohmann::json& facts);

}  // namespace roofline
