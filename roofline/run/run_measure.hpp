// The measuring of `roofline run`: processes, rounds, samples and the time they may take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "roofline/base/process.hpp"
#include "roofline/ceilings/ceilings.hpp"
#include "roofline/machine/gpu.hpp"
#include "roofline/results/run_folder.hpp"
#include "roofline/run/run.hpp"
#include "roofline/run/run_plan.hpp"

namespace roofline {

/// Settings of the environment that all programs of a run are started with.
std::vector<std::pair<std::string, std::string>> child_environment(const RunSettings& settings);

/// Measures the plan's groups that the folder lacks into it, and again, within bounds, the ceilings
/// that the results cast doubt on. `context` is of `machine`; `gpus` may be null. False if it was
/// interrupted.
bool measure(RunFolder& folder, const Plan& plan, const RunOptions& options,
             const std::string& device, const machine::Machine& machine,
             const CeilingContext& context, const machine::GpuWatch* gpus, SignalGuard& signals);

}  // namespace roofline
