// A results folder while it is being filled: bench/*.json, run.json, and nothing half-written.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/results/benchmark.hpp"

namespace roofline {

/// What decides which benchmarks a run holds; kept in run.json, so that --resume does the same.
struct RunSettings {
  bool full = false;
  std::string device = "all", gpu, filter;
  std::vector<std::string> own;  ///< the user's programs: their names, no paths
};

/// Groups of ceilings measured again, which are no groups of the plan, begin so.
inline constexpr std::string_view kAgain = "again-";

struct RunFailure {
  std::string group, benchmark, reason;
};

class RunFolder {
 public:
  /// Makes root/machine/<UTC date and time>/ with machine.json, run.json and tables without rows
  /// in it; never an old one. Throws BadInput naming what cannot be made.
  static RunFolder create(const std::filesystem::path& root, const std::string& machine,
                          const RunSettings& settings, std::string_view machine_json);
  /// Opens one that an earlier run left. Throws BadInput if it is none, if its run.json is not
  /// usable, or if a run is at work in it.
  static RunFolder resume(const std::filesystem::path& folder);

  RunFolder(RunFolder&& other) noexcept;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  const RunSettings& settings() const { return settings_; }
  /// Measured and without a failure: not to be done again.
  bool done(const std::string& group) const;
  /// An earlier run came to its end, in which some benchmarks may have failed.
  bool ended() const { return ended_; }
  /// For what must not be seen before it is whole; removed by the destructor.
  std::filesystem::path scratch() const { return path_ / ".part"; }
  /// Fails with BadInput now if the disk takes no more.
  void check_space() const;

  /// Puts a group's rows (Google Benchmark's format, first context) into place and notes its
  /// failures in run.json. Without rows only the failures are noted.
  void finish_group(const std::string& group, const std::string& json_text,
                    const std::vector<RunFailure>& failures);
  /// status: running, interrupted, failed or complete.
  void write_state(const std::string& status, std::size_t groups_total);

  const std::vector<RunFailure>& failures() const { return failures_; }
  std::vector<std::string> builds;  ///< that have measured here: RunOptions::build
  std::vector<SkippedRow> skipped;  ///< of a resumed run: those of the earlier ones

 private:
  RunFolder(std::filesystem::path path, RunSettings settings);
  void lock();
  /// Makes the folders that are missing, and removes half-written files of a run that was killed.
  void make_ready() const;

  std::filesystem::path path_;
  RunSettings settings_;
  std::string started_;
  std::vector<RunFailure> failures_;
  std::set<std::string> done_;
  std::string status_ = "running";
  std::size_t groups_total_ = 0;
  bool ended_ = false;
  int lock_ = -1;
};

/// bench/*.json of a results folder, sorted by name. Throws BadInput if it is not such a folder.
std::vector<std::filesystem::path> bench_files(const std::filesystem::path& folder);

}  // namespace roofline
