// The counters and the label that every row carries.
#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "kernels/op.hpp"

namespace bench {

/// What is unknown is left out.
inline void set_counter(benchmark::State& state, const char* name, double value) {
  if (!std::isnan(value)) state.counters[name] = value;
}

/// Agreed names, base units.
inline void set_counters(benchmark::State& state, const kernels::Problem& problem, double clock_hz,
                         bool gpu) {
  using benchmark::Counter;
  const auto set = [&](const char* name, double value) { set_counter(state, name, value); };
  const kernels::Cost cost = problem.cost();
  const kernels::LevelBytes t = problem.traffic();
  set("flops", cost.flops);
  set("bytes", cost.bytes);
  set("intensity", cost.bytes > 0 ? cost.flops / cost.bytes : kernels::kUnknown);
  set("working_set_bytes", problem.working_set_bytes());
  set("clock_hz", clock_hz);
  set("bytes_L1", t.l1);
  set("bytes_L2", t.l2);
  set("bytes_L3", t.l3);
  set(gpu ? "bytes_HBM" : "bytes_DRAM", t.dram);
  state.counters["FLOP/s"] = Counter(cost.flops, Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = Counter(cost.bytes, Counter::kIsIterationInvariantRate);
}

/// A program's parts: `flops_part_<name>` and `bytes_part_<name>` as above, by level as
/// `bytes_<level>_part_<name>`, and the mean time of an iteration as `time_part_<name>`.
inline void set_part_counters(benchmark::State& state, const kernels::Part& part, double time_s,
                              bool gpu) {
  const auto set = [&](const char* name, double value) {
    set_counter(state, (name + ("_part_" + part.name)).c_str(), value);
  };
  set("time", time_s);
  set("flops", part.cost.flops);
  set("bytes", part.cost.bytes);
  set("bytes_L1", part.traffic.l1);
  set("bytes_L2", part.traffic.l2);
  set("bytes_L3", part.traffic.l3);
  set(gpu ? "bytes_HBM" : "bytes_DRAM", part.traffic.dram);
}

/// For a program also its parts, in their order, and of each
/// `part_<name>=<op>/<variant>/<dtype>/<exec_unit>/<roof_dtype>`.
inline std::string base_label(const kernels::Problem& problem, bool gpu) {
  const auto [unit, dtype] = problem.exec_unit();
  std::string label = std::string("device=") + (gpu ? "gpu" : "cpu") + ";exec_unit=" + unit +
                      ";roof_dtype=" + dtype + ";";
  const auto parts = problem.parts();
  if (!parts.empty()) {
    std::string names;
    for (const auto& part : parts) {
      names += (names.empty() ? "" : " ") + part.name;
      label += "part_" + part.name + "=" + part.op + "/" + part.variant + "/" + part.dtype + "/" +
               part.exec_unit.first + "/" + part.exec_unit.second + ";";
    }
    label += "scope=program;parts=" + names + ";";
  }
  return label + problem.label();
}

}  // namespace bench
