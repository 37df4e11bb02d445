#include "roofline/bench.hpp"

#include <cmath>

#include "bench/core_rates.hpp"

namespace roofline {
namespace {

/// Of what goes into the label, which ';' and '=' take apart.
bool plain(const std::string& text) { return text.find_first_of(";=") == std::string::npos; }

bool amount(double value) { return std::isfinite(value) && value >= 0; }

const char* fault_of(const benchmark::State& state, const Work& work) {
  if (!amount(work.flops)) return "roofline::Work: flops is not a finite number >= 0";
  if (!amount(work.bytes)) return "roofline::Work: bytes is not a finite number >= 0";
  if (work.flops == 0 && work.bytes == 0) return "roofline::Work: flops and bytes are both 0";
  if (work.device != "cpu" && work.device != "gpu") {
    return "roofline::Work: device is neither cpu nor gpu";
  }
  if (!plain(work.dtype) || !plain(work.exec_unit)) {
    return "roofline::Work: dtype and exec_unit must not contain ; or =";
  }
  if (work.threads < 1) return "roofline::Work: threads is below 1";
  if (state.threads() > 1) {
    return "roofline::report: Google Benchmark's own threads make flops per iteration ambiguous";
  }
  return nullptr;
}

}  // namespace

void report(benchmark::State& state, const Work& work) {
  using benchmark::Counter;
  if (state.error_occurred()) return;
  if (const char* fault = fault_of(state, work)) {
    state.SkipWithError(fault);
    return;
  }
  const auto set = [&](const char* name, double value) {
    if (std::isfinite(value)) state.counters[name] = value;
  };
  double clock_hz = work.clock_hz;
  if (std::isnan(clock_hz) && work.device == "cpu") clock_hz = ::bench::core_rates().clock_hz;
  set("flops", work.flops);
  set("bytes", work.bytes);
  if (work.bytes > 0) set("intensity", work.flops / work.bytes);
  set("working_set_bytes", work.working_set_bytes);
  set("clock_hz", clock_hz);
  state.counters["FLOP/s"] = Counter(work.flops, Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = Counter(work.bytes, Counter::kIsIterationInvariantRate);
  std::string label = "device=" + work.device + ";threads=" + std::to_string(work.threads) + ";";
  if (!work.dtype.empty()) label += "dtype=" + work.dtype + ";";
  if (!work.exec_unit.empty()) label += "exec_unit=" + work.exec_unit + ";";
  state.SetLabel(label + work.label);
}

}  // namespace roofline
