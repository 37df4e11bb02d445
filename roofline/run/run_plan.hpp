// What `roofline run` measures, in which processes.
#pragma once

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// One benchmark as a bench program's --list tells it.
struct ListedBenchmark {
  std::filesystem::path program;
  std::string name, op, variant, device;
  bool library = false;
  int threads = 1;
  std::string needs_missing;  ///< why it cannot run here; empty if it can
  std::string tuned;          ///< VARIABLE=value that suits a library better here; empty: none
  bool own = false;           ///< of a program of the user's own
};

/// One process: all our own variants of a group, or one library.
struct Unit {
  std::filesystem::path program;
  std::string library;  ///< variant; empty for our own
  std::vector<std::string> names;
  std::string tuned;  ///< VARIABLE=value that the process gets; its names are tuned_name()s
  bool own = false;   ///< the user's program, which knows Google Benchmark's flags only
  bool roof = false;  ///< probes of the peak, as the roofs of its group
  bool gpu = false;   ///< on a GPU, and not the user's own
};

std::size_t benchmarks_of(const std::vector<Unit>& units);

/// What is compared with each other, measured as neighbours in time; one file in bench/.
struct Group {
  std::string name;  ///< the file's name without .json
  /// Data beyond the caches, by design: holding it in several processes at once costs more than
  /// making it anew, since a virtual machine may have to fetch every page from its host.
  bool large = false;
  std::vector<Unit> units;
  std::size_t benchmarks() const { return benchmarks_of(units); }
  bool on_gpu() const;
};

struct Plan {
  std::vector<Group> groups;  ///< the ceilings' probes first
  std::vector<SkippedRow> skipped;
};

/// The bench_* programs of a folder, bench_ceilings first. Throws BadInput if there are none.
std::vector<std::filesystem::path> find_programs(const std::filesystem::path& bin);

/// Throws BadInput naming the program: not the JSON array that --list prints.
std::vector<ListedBenchmark> parse_list(std::string_view text,
                                        const std::filesystem::path& program);

/// Groups by operation, dtype, keys, threads and device; probes (of bench_ceilings) by operation,
/// threads, device and how long the load is held; the user's own by program. A decode step on a CPU
/// has probes of the peak with it, which drifts by a third in minutes where neighbours of a virtual
/// machine use it too; in a `full` run every matmul has. A library that does not use this CPU by
/// itself is measured twice, as installed and as tuned. `filter` is a regular expression searched
/// for in the names, empty for all; if it matches no probe at all, every probe stays, so that the
/// kernels it matches have roofs. Throws BadInput for a bad expression, for one that matches
/// nothing, and for a name that stands twice.
Plan make_plan(const std::vector<ListedBenchmark>& listed, const std::string& filter, bool full);

/// Of the devices that the suite's own benchmarks of the plan are for, those that not one of `rows`
/// is of.
std::vector<std::string> devices_without_rows(const Plan& plan, const std::vector<Benchmark>& rows);

/// What a library's benchmark is called where the library is told of the CPU: its variant ends in
/// `_tuned`.
std::string tuned_name(const std::string& name);

/// The names of the unit as its program knows them.
std::vector<std::string> program_names(const Unit& unit);

/// Leaves only these benchmarks, and no unit without any.
void keep_only(std::vector<Unit>& units, const std::set<std::string>& names);

/// The units of the plan cut down to these benchmarks.
std::vector<Unit> units_of(const Plan& plan, const std::set<std::string>& names);

/// The user's --filter, empty for all. Throws BadInput.
std::regex filter_expression(const std::string& filter);

/// The value of --benchmark_filter that selects exactly these benchmarks.
std::string exact_filter(const std::vector<std::string>& names);

}  // namespace roofline
