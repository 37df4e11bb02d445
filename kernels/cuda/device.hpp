// The GPU that this process uses: device 0 of those that CUDA_VISIBLE_DEVICES shows.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/registry.hpp"

namespace kernels::cuda {

/// What the driver tells; base units, 0 = unknown.
struct Device {
  std::string name, pci_bus_id;  ///< "NVIDIA H100 80GB HBM3", "0000:1b:00.0"
  int major = 0, minor = 0;      ///< compute capability
  int sms = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_per_block = 0;  ///< largest that a kernel may ask for
  std::int64_t shared_per_sm = 0;
  std::int64_t memory_bytes = 0, memory_free_bytes = 0;
  std::int64_t memory_bus_bits = 0;
  double sm_clock_hz = 0, memory_clock_hz = 0;  ///< highest
  int driver_version = 0, runtime_version = 0;  ///< 12040 = 12.4
};

/// The device, probed once. Only where unusable() is empty.
const Device& device();

/// Empty if there is a GPU that this build's runtime can use, else why not, in one line.
const std::string& unusable();

/// Empty if the device has what `need` names (an architecture or cuBLASLt), else why not.
std::string missing(Need need);

/// The line for versions that do not fit; empty if they do. A driver runs every runtime of its own
/// major version (minor-version compatibility) and all older ones. 0 = no driver.
std::string version_conflict(int driver_version, int runtime_version);

/// The same for a GPU of capability `major`.x: one for which this build has PTX alone (newer than
/// its nvcc knew, or than it got code for) needs a driver that is no older than the runtime.
std::string ptx_conflict(int major, int driver_version, int runtime_version);

/// Whether a device of capability `major`.`minor` runs what `need` names; portable code (sm80) goes
/// on to newer chips, architecture-specific code (sm90a) runs on 9.0 only. mma.sync in fp8 is an
/// instruction of 8.9 and 12.x: for 9.x and 10.x nvcc makes conversions and a product in fp16 of
/// it.
bool capability_fits(Need need, int major, int minor);

}  // namespace kernels::cuda
