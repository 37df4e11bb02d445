// The fixed columns of every CSV that this suite writes, with units and meaning: the one place.
//
// All values are in base units (FLOP/s, bytes/s, seconds, Hz, bytes, W, degrees Celsius). An
// unknown is an empty field, never 0. `low` and `high` are the 95 % interval of the median, from
// order statistics; they are empty below 6 samples. Integer operations count as FLOP.
#pragma once

#include <string_view>

namespace roofline {

struct Column {
  std::string_view name;
  std::string_view unit;  ///< empty for text
  std::string_view meaning;
};

/// One row per limit of the machine.
inline constexpr Column kCeilingsColumns[] = {
    {"machine", "", "CPU model and core count; of GPU rows the GPU's model"},
    {"device", "", "cpu or gpu"},
    {"resource", "", "compute, bandwidth, latency or link"},
    {"level", "",
     "L1, L2, L3, DRAM, HBM, shared (a GPU's, latency only), launch or the link's name; empty for "
     "compute"},
    {"operation", "", "fma_peak; read, write, copy, triad …; pages_<bytes of each>; chase; launch"},
    {"dtype", "", "element type, as in benchmark names"},
    {"exec_unit", "", "scalar, simd-<isa>, cuda-core, mma, wgmma …"},
    {"threads", "count", "threads that ran it at the same time"},
    {"condition", "", "random or zeros; burst or sustained; quiet or as-lived; joined by +"},
    {"working_set_bytes", "bytes", "of all threads together, at the chosen size"},
    {"measured", "FLOP/s, bytes/s or s", "median; s per dependent load or launch for latency"},
    {"measured_low", "as measured", "lower end of the median's 95 % interval"},
    {"measured_high", "as measured", "upper end of the median's 95 % interval"},
    {"samples", "count", "timed samples behind the median"},
    {"samples_rejected", "count", "samples left out, by a rule that does not look at them"},
    {"clock_hz", "Hz", "core clock observed during the run"},
    {"theory_at_clock", "as measured", "per-cycle figure x observed clock x cores"},
    {"fraction_of_theory", "1", "measured / theory_at_clock"},
    {"advertised", "as measured", "what the vendor states, dense"},
    {"advertised_source", "", "where it is stated"},
    {"fraction_of_advertised", "1", "measured / advertised"},
    {"verdict", "",
     "ok, or what is wrong, joined by +: no-plateau, not-quiet, clock-moved, samples-disagree, "
     "above-theory, out-of-order, below-kernel"},
    {"cause", "", "the verdict in words; empty when ok"},
};

/// One row per size of every size sweep.
inline constexpr Column kSweepColumns[] = {
    {"machine", "", "as in ceilings.csv"},
    {"device", "", "cpu or gpu"},
    {"resource", "", "bandwidth or latency"},
    {"level", "", "the level that this size was taken to measure; empty between two levels"},
    {"operation", "", "read, write, copy, triad …; chase"},
    {"variant", "", "the kernel that measured it"},
    {"dtype", "", "element type"},
    {"exec_unit", "", "as in ceilings.csv"},
    {"threads", "count", "threads that ran it at the same time"},
    {"size_bytes", "bytes", "working set per thread, all arrays together"},
    {"working_set_bytes", "bytes", "of all threads together"},
    {"measured", "bytes/s or s", "median"},
    {"measured_low", "as measured", "lower end of the median's 95 % interval"},
    {"measured_high", "as measured", "upper end of the median's 95 % interval"},
    {"samples", "count", "timed samples behind the median"},
    {"samples_rejected", "count", "samples left out, by a rule that does not look at them"},
    {"relative_mad", "1", "median absolute deviation from the median / median"},
    {"clock_hz", "Hz", "core clock observed during the run"},
    {"plateau", "0 or 1", "1 where the size is part of the flat piece that gave the ceiling"},
};

/// The machine's state during the run, sampled by `roofline run`.
inline constexpr Column kTraceColumns[] = {
    {"time_s", "s", "since the run began; pauses before a --resume are left out"},
    {"device", "", "cpu, gpu (the first one), gpu1 …"},
    {"during", "", "the comparison group that was running"},
    {"clock_hz", "Hz", "highest core clock that the system tells"},
    {"memory_clock_hz", "Hz", "GPU memory clock"},
    {"power_w", "W", "a GPU's board; the CPU's packages since the last sample, where root runs it"},
    {"temperature_c", "degrees Celsius", "of the device"},
    {"throttle", "", "the device's clock event reasons, as NVML's bits"},
    {"load", "count", "runnable tasks, mean of the last minute"},
    {"steal", "1", "share of CPU time taken by the hypervisor since the last sample"},
};

/// One row per benchmark and memory level that its bytes cross.
inline constexpr Column kRooflineColumns[] = {
    {"machine", "", "as in ceilings.csv"},
    {"device", "", "cpu or gpu"},
    {"scope", "", "operation or program"},
    {"parent", "", "the program that an operation is part of: its name as a benchmark"},
    {"kernel", "", "the operation; a user's benchmark: its whole name; a part: <program>_<part>"},
    {"variant", "", "how it is done, or the library"},
    {"dtype", "", "element type, mixed as bf16xs8"},
    {"exec_unit", "", "the unit that the kernel issues to"},
    {"shape", "", "key:value/… of the name but temp and threads"},
    {"temperature", "", "warm or cold"},
    {"threads", "count", "CPU threads"},
    {"working_set_bytes", "bytes", "touched over all threads and rotated copies"},
    {"time_s", "s", "median per call"},
    {"time_low_s", "s", "lower end of the median's 95 % interval"},
    {"time_high_s", "s", "upper end of the median's 95 % interval"},
    {"samples", "count", "timed samples behind the median"},
    {"samples_rejected", "count", "samples left out, by a rule that does not look at them"},
    {"clock_hz", "Hz", "core clock observed during the run"},
    {"power_w", "W", "GPU board power during the run"},
    {"throttle", "", "throttle reasons seen during the run"},
    {"flops", "FLOP", "per call"},
    {"level", "", "the memory level of this row; empty if no bytes are known to cross one"},
    {"bytes", "bytes", "that cross this level per call, at least"},
    {"bytes_source", "", "model or counter; a counter row has counted flops where it can"},
    {"intensity", "FLOP/byte", "flops / bytes"},
    {"achieved_flops_per_s", "FLOP/s", "flops / time_s"},
    {"achieved_bytes_per_s", "bytes/s", "bytes / time_s"},
    {"roof", "", "the ceilings row that limits this row: resource/level or dtype/operation/unit"},
    {"roof_flops_per_s", "FLOP/s",
     "min(C, intensity x W) with this row's level; W of DRAM is what the memory that its calls "
     "read gave after each sample, or else a probe measured beside the row, where there is one"},
    {"ridge_intensity", "FLOP/byte", "C / W"},
    {"bound_by", "", "compute, launch or the level with the largest time, over all levels"},
    {"t_lower_s", "s",
     "whole kernel: max of flops/C, launch and every level's bytes/W; a program: sum over its "
     "parts"},
    {"t_upper_s", "s", "flops/C + this level's bytes/W"},
    {"fraction_of_roof", "1", "achieved / roof, as measured even where it exceeds 1"},
    {"theory_roof_flops_per_s", "FLOP/s",
     "the same roof in theory: the peak at the row's clock_hz, the level at its probe's"},
    {"advertised_roof_flops_per_s", "FLOP/s", "the same roof with both sides as advertised"},
    {"fraction_of_advertised", "1", "achieved / advertised roof"},
    {"peer", "", "the fastest library on the same work"},
    {"peer_ratio", "1",
     "its time / this one's, median over the pairs of samples, neighbours in time (of one round, "
     "where memory does not hold all programs), that are both quiet, or but for the memory, of "
     "which both had the same within 15 %; above 1 this one is "
     "faster; empty with fewer than 3 pairs"},
    {"verdict", "",
     "ok; not-quiet: too few samples in quiet moments, so all of them count; samples-disagree: "
     "they lie 15 % off their median; clock-moved: by 10 % between samples, or against the peak's; "
     "at-roof: above 1 within the uncertainty (3 % of clock, how far it is above that of a peak "
     "from another moment, both intervals, 10 % in all); "
     "above-roof: beyond it, not to be plotted; "
     "impossible: faster than t_lower_s because of another row of this benchmark; no-roof: a "
     "ceiling it needs is not known"},
};

/// Of its verdicts: a time that the model says cannot be, not to be believed, whatever is wrong.
constexpr bool is_refused(std::string_view verdict) {
  return verdict == "above-roof" || verdict == "impossible";
}

/// Of its verdicts: a time whose samples, or their clock, do not let it stand by itself.
constexpr bool is_doubtful(std::string_view verdict) {
  return verdict == "not-quiet" || verdict == "samples-disagree" || verdict == "clock-moved";
}

/// Programs, such as a decode step, beside what the main memory's and the compute roofs allow: a
/// row for the whole and one for each of its parts, which run one after another.
inline constexpr Column kPredictionColumns[] = {
    {"machine", "", "as in ceilings.csv"},
    {"device", "", "cpu or gpu"},
    {"program", "", "its name as a benchmark"},
    {"variant", "", "how the program or its part is done"},
    {"dtype", "", "of the program or its part, mixed as bf16xs8"},
    {"part", "", "step for the whole; qkv, attention, out, mlp_up, mlp_down, head; glue between"},
    {"time_s", "s", "measured: median per step"},
    {"time_low_s", "s", "lower end of the median's 95 % interval"},
    {"time_high_s", "s", "upper end of the median's 95 % interval"},
    {"flops", "FLOP", "per step"},
    {"parameter_bytes", "bytes", "of weights and their scales that are read in a step; 0 for none"},
    {"kv_bytes", "bytes", "of the KV cache and its scales that are read in a step; 0 for none"},
    {"t_parameters_s", "s", "parameter_bytes / bandwidth of the main memory"},
    {"t_kv_s", "s", "kv_bytes / bandwidth of the main memory"},
    {"t_flops_s", "s", "flops / peak of the unit and dtype that the part issues to"},
    {"t_lower_s", "s", "a part: the largest of the three; a step: sum over its parts"},
    {"t_upper_s", "s", "sum of the three"},
    {"overhead_s", "s", "time_s - t_lower_s: what perfect overlap does not explain"},
    {"error", "1", "time_s / t_lower_s - 1; empty for overhead"},
    {"verdict", "",
     "explained: between t_lower_s and t_upper_s, within 3 % of clock; near: else within 15 % of "
     "t_lower_s; lost: above both; impossible: faster than one of its bounds, as in roofline.csv; "
     "overhead: a part that needs nothing of the main memory; no-roof: a ceiling is unknown"},
};

/// `roofline predict sweep batch`: one row per shape and batch.
inline constexpr Column kBatchSweepColumns[] = {
    {"hardware", "", "chip or machine"},
    {"dtype", "", "of X and Y, mixed as bf16xs8"},
    {"compute", "", "dtype of the arithmetic"},
    {"D", "count", "contraction"},
    {"F", "count", "columns of Y"},
    {"B", "count", "rows of X: the batch"},
    {"flops", "FLOP", "2BDF"},
    {"bytes", "bytes", "compulsory: every operand once"},
    {"intensity", "FLOP/byte", "flops / bytes"},
    {"t_math_s", "s", "flops / peak"},
    {"t_comms_s", "s", "bytes / bandwidth"},
    {"t_lower_s", "s", "the larger of both"},
    {"t_upper_s", "s", "their sum"},
    {"bound", "", "compute or the memory's level"},
    {"attainable_flops_per_s", "FLOP/s", "flops / t_lower_s"},
    {"peak_flops_per_s", "FLOP/s", "of this dtype"},
    {"critical_batch", "count", "compute-bound above it; empty if never"},
    {"measured_flops_per_s", "FLOP/s",
     "of the folder's fastest cold run of this shape; else empty"},
    {"measured_variant", "", "how that was done"},
};

/// `roofline predict sweep serve`: one row per context and batch.
inline constexpr Column kServeSweepColumns[] = {
    {"hardware", "", "chip or machine"},
    {"model", "", "the transformer"},
    {"chips", "count", "that it is served by"},
    {"weights", "", "dtype"},
    {"kv", "", "dtype of the KV cache"},
    {"compute", "", "dtype of the arithmetic"},
    {"context", "tokens", "in the cache of each sequence"},
    {"batch", "count", "sequences decoded together"},
    {"fits", "0 or 1", "parameters and cache within the chips' memory; empty if it is unknown"},
    {"t_parameters_s", "s", "loading the parameters"},
    {"t_kv_s", "s", "loading the KV cache"},
    {"t_flops_s", "s", "arithmetic of the matmuls"},
    {"t_step_s", "s", "t_kv_s + the larger of the other two"},
    {"bound", "", "the longest part: compute or the memory's level"},
    {"tokens_per_s", "1/s", "of all chips"},
    {"tokens_per_s_per_chip", "1/s", "of one"},
    {"critical_batch", "count", "arithmetic takes longer than the parameters above it"},
};

}  // namespace roofline
