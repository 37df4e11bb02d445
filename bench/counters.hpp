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

inline std::string base_label(const kernels::Problem& problem, bool gpu) {
  const auto [unit, dtype] = problem.exec_unit();
  return std::string("device=") + (gpu ? "gpu" : "cpu") + ";exec_unit=" + unit +
         ";roof_dtype=" + dtype + ";" + problem.label();
}

}  // namespace bench
