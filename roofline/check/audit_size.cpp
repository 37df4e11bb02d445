#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "roofline/base/text_table.hpp"
#include "roofline/check/audits.hpp"
#include "roofline/check/thresholds.hpp"

namespace roofline::check {
namespace {

/// A count or size of this GPU against the chip's.
Finding held_against(const char* name, const char* what, double seen, double advertised,
                     double least, const char* unit, std::vector<std::string> explains) {
  Finding out{Grade::kUnknown, name, what, std::move(explains)};
  if (std::isnan(seen) || !(advertised > 0)) return out;
  const auto shown = [&](double value) {
    return *unit ? with_prefix(value, unit) : fmt::format("{:g}", value);
  };
  out.text = fmt::format("{}: {} of {} advertised", what, shown(seen), shown(advertised));
  out.grade = seen < least * advertised ? Grade::kFail : Grade::kPass;
  return out;
}

/// A run measures one GPU: a box of eight is not passed by one of them.
Finding other_gpus(const Box& box) {
  Finding out{Grade::kPass, "other-gpus", "GPUs of the box", {}};
  if (box.gpus.size() < 2) return out;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < box.gpus.size(); ++i) {
    if (i != box.gpu_index) others.push_back(fmt::format("{} ({})", i, box.gpus[i]));
  }
  const std::string measured = box.gpu_index
                                   ? fmt::format("GPU {} was measured", *box.gpu_index)
                                   : std::string("a slice was measured, which GPU's is not known");
  out.grade = Grade::kNote;
  out.text = fmt::format("{}; nothing is said of {}: roofline run --gpu picks another", measured,
                         fmt::join(others, ", "));
  return out;
}

std::vector<Finding> audit_gpu(const Box& box) {
  std::vector<Finding> out;
  const auto limit = [](const char* name) { return Thresholds::get().limit(name); };
  const specs::Chip none;
  const specs::Chip& chip = box.chip ? *box.chip : none;
  out.push_back(other_gpus(box));
  out.push_back(held_against("fewer-sms", "SMs", box.gpu_sms, chip.sms, limit("unit_share"), "",
                             {"gpu/compute", "gpu/bandwidth"}));
  out.push_back(held_against("narrower-bus", "memory bus bits", box.gpu.number("/memory_bus_bits"),
                             chip.memory_bus_bits, limit("unit_share"), "", {"gpu/bandwidth/HBM"}));
  out.push_back(held_against("less-gpu-memory", "GPU memory", box.gpu.number("/memory_bytes"),
                             chip.memory_bytes, limit("memory_share"), "B", {}));

  // A slice has no index of its own.
  const auto mig = box.gpu_index ? box.gpu.flag("/mig") : std::optional(true);
  out.push_back({!mig   ? Grade::kUnknown
                 : *mig ? Grade::kFail
                        : Grade::kPass,
                 "mig",
                 mig && *mig ? "MIG is on: this is a slice of a GPU" : "MIG mode",
                 {"gpu/"}});
  const std::string mode = box.gpu.text("/virtualisation");
  const bool vgpu = mode == "vgpu";
  out.push_back({mode.empty() ? Grade::kUnknown
                 : vgpu       ? Grade::kFail
                              : Grade::kPass,
                 "vgpu",
                 vgpu ? "a virtual GPU: the board is shared with others" : "GPU virtualisation",
                 {"gpu/"}});
  return out;
}

std::vector<Finding> audit_cpu(const Box& box) {
  std::vector<Finding> out;
  const auto usable = box.machine.size("/usable/cpus");
  const double cores = box.machine.number("/cpu/physical_cores");
  Finding set{Grade::kUnknown, "fewer-cores", "usable cores", {"cpu/"}};
  if (usable && !std::isnan(cores)) {
    const auto count = static_cast<double>(*usable);
    set.grade = count < cores ? Grade::kWarn : Grade::kPass;
    set.text = fmt::format("{} of the machine's {} cores are usable{}", count, cores,
                           count < cores ? " (cpuset or affinity mask)" : "");
  }
  out.push_back(set);

  Finding threads{Grade::kUnknown, "fewer-threads", "threads", {"cpu/"}};
  const int most = most_threads(box.ceilings, "cpu");
  if (const double allowed = box.machine.number("/usable/threads"); !std::isnan(allowed)) {
    threads.grade = most < allowed ? Grade::kWarn : Grade::kPass;
    threads.text = fmt::format("measured with {} threads of {} that are usable", most, allowed);
  }
  out.push_back(threads);
  return out;
}

}  // namespace

std::vector<Finding> audit_size(const Box& box, const std::string& device) {
  return device == "gpu" ? audit_gpu(box) : audit_cpu(box);
}

}  // namespace roofline::check
