// What a run measures on: the devices that are there and that its programs can use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "roofline/machine/machine.hpp"
#include "roofline/results/run_folder.hpp"
#include "roofline/run/run_plan.hpp"

namespace roofline {

/// cpu, gpu or all as the programs shall take it, and settings.gpu as the GPU's index: all without
/// a GPU is cpu, which `notes` get a line on. Without NVML, which a container may lack, CUDA picks
/// the GPU. Throws BadInput where a GPU that was asked for cannot be had.
std::string usable_device(RunSettings& settings, const machine::Machine& machine,
                          const std::vector<std::filesystem::path>& programs,
                          std::vector<std::string>& notes);

/// What the programs offer on it; that they have nothing for a GPU is a note, and an error where
/// one was asked for. Throws BadInput, too, if one cannot even list.
std::vector<ListedBenchmark> list_programs(const std::vector<std::filesystem::path>& programs,
                                           const RunSettings& settings, const std::string& device,
                                           std::vector<std::string>& notes);

}  // namespace roofline
