// The causes that are looked for, one file each. Every audit says what it found, be it nothing, or
// that the folder does not tell. `device` is cpu or gpu.
#pragma once

#include <string>
#include <vector>

#include "roofline/check/box.hpp"
#include "roofline/check/finding.hpp"

namespace roofline::check {

/// Fewer SMs or cores than there should be, less memory, a narrower bus, MIG and vGPU.
std::vector<Finding> audit_size(const Box& box, const std::string& device);
/// Clocks: power limit, heat, slowdown by hardware, limits set by somebody, governor, boost.
std::vector<Finding> audit_clock(const Box& box, const std::string& device);
/// Who else is on the machine: other processes, the hypervisor, container quotas.
std::vector<Finding> audit_sharing(const Box& box, const std::string& device);
/// What holds memory back: ECC, memory clock, faulty rows, page size.
std::vector<Finding> audit_memory(const Box& box, const std::string& device);
/// PCIe width and generation.
std::vector<Finding> audit_link(const Box& box, const std::string& device);

}  // namespace roofline::check
