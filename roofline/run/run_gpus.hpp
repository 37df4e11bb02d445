// `roofline run --gpu all`: every GPU of a machine at the same time.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "roofline/run/run.hpp"

namespace roofline {

/// What RunSettings::gpu says for all of them.
inline constexpr std::string_view kAllGpus = "all";

struct GpuRuns {
  std::vector<std::filesystem::path> folders;  ///< of GPUs in the order of their index
  int exit_code = 0;                           ///< run()'s: 0, 1 if one of them was not 0
};

/// A `program run --device gpu --gpu I …`, with the rest of `options`, for each GPU (of those in
/// CUDA_VISIBLE_DEVICES, if it is set), all at once: they share power, cooling and the host, as
/// they will at work. What they say comes through with the GPU before it, what several say in the
/// same words once. Exit code 2 if none began. Throws BadInput where there is no GPU or NVML does
/// not list them.
GpuRuns run_gpus(const std::filesystem::path& program, const RunOptions& options);

}  // namespace roofline
