// Google Benchmark's JSON, ours or a user's own, read into one record per benchmark.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Reads the files as one run. Of the samples of a benchmark the first one of each file says it
/// all; later ones may leave out their label and every counter that does not change. A row's dtype
/// and device come from its name or label, else from `defaults`. Level of the bytes: counters
/// bytes_<level>; a row with only `bytes` counts at the level in `defaults`, else at the last one
/// (DRAM, HBM) if its name says temp:cold, else at the smallest cache of the file's context that
/// holds working_set_bytes (per thread for L1 and L2; on a GPU half of L2, whose size another file
/// of the run may tell), else at the last one. What hardware counters saw of a call: counted_flops
/// and counted_bytes_<level>, or why they did not as counters= in the label.
///
/// A row whose label says scope=program and parts=<name> <name> … is followed by its parts, as
/// benchmarks of the operation <kernel>_<name> with the program as parent. The label tells of each
/// `part_<name>=<op>/<variant>/<dtype>/<exec_unit>/<roof_dtype>`, the counters time_part_<name>
/// (seconds per iteration, in every sample), flops_part_<name>, bytes_part_<name> and
/// bytes_<level>_part_<name>.
///
/// Throws BadInput, one line naming file and row or line: not readable, empty, not JSON, no
/// `benchmarks`, wrong types, no row with counters `flops` and `bytes`, one of them missing, times
/// or counters that are not finite and positive, an unknown time unit, rows without a known device
/// or dtype, Google Benchmark threads above 1 (its per-iteration counters are ambiguous then),
/// samples of one benchmark that disagree in what they say of it, a file given twice, files of two
/// machines.
BenchData read_bench_json(std::span<const std::filesystem::path> files,
                          const RowDefaults& defaults = {});
/// The same for one text; `source` stands for the file name.
BenchData parse_bench_json(std::string_view text, const std::string& source,
                           const RowDefaults& defaults = {});

}  // namespace roofline
