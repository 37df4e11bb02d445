// Which of the machine's GPUs a run measures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/results/run_notes.hpp"

namespace roofline {

/// GPU-… or, of a slice, MIG-…, which may be cut short.
bool is_gpu_uuid(std::string_view text);

struct GpuChoice {
  /// For CUDA_VISIBLE_DEVICES and run.json: the index among the driver's GPUs, or a MIG slice's
  /// UUID.
  std::string gpu;
  std::string fault;               ///< why there is none, one line; else empty
  std::vector<std::string> notes;  ///< one line each: other GPUs, MIG
};

/// `devices` and `uuids` are machine::read_gpus' devices and machine::gpu_uuids; `asked` is --gpu
/// or empty, `visible` the CUDA_VISIBLE_DEVICES that was inherited or null. A GPU's UUID may be cut
/// short, as for CUDA, and becomes its index, which tells nobody which board it was.
GpuChoice choose_gpu(const nlohmann::json& devices, const std::vector<std::string>& uuids,
                     const std::string& asked, const char* visible);

}  // namespace roofline
