// Hardware counters of the GPU, by CUPTI's range profiler: what the model's work is held against.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/op.hpp"

namespace bench {

/// What the chip counted during one call; NaN where it has no counter for it.
struct CountedWork {
  double flops = kernels::kUnknown;
  double hbm_bytes = kernels::kUnknown;  ///< read and written
  double l2_bytes = kernels::kUnknown;   ///< asked of L2's slices
  double l1_bytes = kernels::kUnknown;   ///< global and local memory, asked of L1
};

/// One sum of counters: CountedWork's `target` is that of `weight` times each metric.
struct CounterSum {
  double CountedWork::*target;
  std::vector<std::pair<std::string, double>> metrics;
};

/// The sums for work on an execution unit (cuda-core, mma, wgmma) in `dtype`, of the metrics that
/// `known` says the chip has; a sum that lacks one is left out. FLOPs are the unit's own: those of
/// a softmax beside tensor cores are not in them, as in the model.
std::vector<CounterSum> counter_sums(const std::string& unit, const std::string& dtype,
                                     const std::function<bool(const std::string&)>& known);

class GpuCounters {
 public:
  /// For the driver's context (a CUcontext) on CUDA device `device`. Nothing is enabled yet.
  GpuCounters(void* context, int device);
  ~GpuCounters();
  GpuCounters(const GpuCounters&) = delete;
  GpuCounters& operator=(const GpuCounters&) = delete;

  /// Why nothing can be counted, in one line: no CUPTI, no permission, a chip that it does not
  /// know; empty if it can, as far as is known.
  const std::string& missing() const { return missing_; }

  /// Calls `call` (enqueue one call and wait for it) once for each pass that the counters need,
  /// with the pass's number, and leaves the profiler disabled. All NaN if it fails; missing() then
  /// says why.
  CountedWork count(const std::string& unit, const std::string& dtype,
                    const std::function<void(int)>& call);

 private:
  struct Profiler;
  std::unique_ptr<Profiler> profiler_;
  std::string missing_;
};

}  // namespace bench
