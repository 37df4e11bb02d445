#include <fmt/format.h>

#include <cmath>

#include "roofline/base/statistics.hpp"
#include "roofline/base/text_table.hpp"
#include "roofline/check/audits.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

double limit(const char* name) { return Thresholds::get().limit(name); }

Finding gpu_processes(const Box& box) {
  Finding out{Grade::kUnknown, "gpu-processes", "processes on the GPU", {"gpu/"}};
  const double count = box.gpu.number("/processes");
  if (std::isnan(count)) return out;
  out.grade = count > 0 ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("{} other processes on the GPU when the run began", count);
  return out;
}

/// Before the run: during it the load is mostly our own.
Finding load(const Box& box) {
  Finding out{Grade::kUnknown, "other-processes", "load", {"cpu/"}};
  const double busy = box.machine.number("/state/busy_share");
  if (!std::isnan(busy)) {
    out.grade = busy > limit("load_per_core") ? Grade::kWarn : Grade::kPass;
    out.text =
        fmt::format("other processes took {} of the CPU time when the run began", percent(busy));
    return out;
  }
  const double tasks = box.machine.number("/state/load_average/0");
  const double cores = box.machine.number("/cpu/logical_cpus");
  if (std::isnan(tasks) || std::isnan(cores)) return out;
  out.grade = tasks > limit("load_per_core") * cores ? Grade::kWarn : Grade::kPass;
  out.text =
      fmt::format("{:.2g} runnable tasks on {} CPUs in the minute before the run", tasks, cores);
  return out;
}

Finding steal(const Box& box) {
  Finding out{Grade::kUnknown, "steal", "stolen time", {"cpu/"}};
  if (std::isnan(box.cpu_trace.steal)) return out;
  out.grade = box.cpu_trace.steal > limit("steal_share") ? Grade::kWarn : Grade::kPass;
  out.text =
      fmt::format("the hypervisor gave {} of the CPU time to others", percent(box.cpu_trace.steal));
  return out;
}

/// All samples against the quiet ones: what the windows beside the samples saw.
Finding shared_cores(const Box& box) {
  Finding out{Grade::kUnknown, "shared-cores", "quiet against as-lived", {"cpu/"}};
  std::vector<double> shares;
  const int all = most_threads(box.ceilings, "cpu");
  for (const Ceiling& quiet : box.ceilings) {
    if (quiet.device != "cpu" || quiet.resource != "compute" || quiet.threads != all ||
        !quiet.condition.ends_with("quiet")) {
      continue;
    }
    const Ceiling* lived = under(box.ceilings, quiet, "as-lived");
    if (lived) shares.push_back(lived->measured / quiet.measured);
  }
  const double share = median(shares);
  if (std::isnan(share)) return out;
  const bool siblings = box.machine.flag("/state/smt_active").value_or(false);
  out.grade = share < limit("as_lived_share") ? Grade::kWarn : Grade::kPass;
  out.text = fmt::format("peaks over all moments are {} of those in quiet ones", percent(share));
  if (out.grade == Grade::kPass) return out;
  out.text += load(box).grade == Grade::kWarn
                  ? ": other processes of this system run on these cores"
              : box.machine.is_virtual()
                  ? ": virtual CPUs share cores (SMT siblings) with others on the host"
              : siblings ? ": other work runs on the SMT siblings"
                         : ": other work runs on these cores";
  return out;
}

Finding quota(const Box& box) {
  Finding out{Grade::kUnknown, "cpu-quota", "CPU quota", {"cpu/"}};
  const auto usable = box.machine.size("/usable/cpus");
  // Version unknown: the limits could not be read, and no quota says nothing.
  if (!usable || box.machine.text("/limits/cgroup_version").empty()) return out;
  const double cores = box.machine.number("/limits/cpu_quota_cores");
  const bool short_of = cores < static_cast<double>(*usable);
  out.grade = short_of ? Grade::kWarn : Grade::kPass;
  out.text = short_of ? fmt::format("the container may use {:g} cores' worth of time, of {} cores",
                                    cores, *usable)
                      : "CPU quota";
  return out;
}

}  // namespace

std::vector<Finding> audit_sharing(const Box& box, const std::string& device) {
  if (device == "gpu") return {gpu_processes(box)};
  return {load(box), steal(box), shared_cores(box), quota(box)};
}

}  // namespace roofline::check
