// `roofline run`: measures ceilings and kernels into a results folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "roofline/results/run_folder.hpp"

namespace roofline {

struct RunOptions {
  RunSettings settings;                    ///< ignored with `resume`
  std::filesystem::path out;               ///< root of results folders
  std::filesystem::path resume;            ///< an unfinished folder; empty for a new one
  std::filesystem::path bin;               ///< where the bench_* programs are
  std::vector<std::filesystem::path> own;  ///< Google Benchmark programs of the user's
  double timeout_s = 0;                    ///< of one process; 0: see process_timeout()
  std::string build;                       ///< version and commit, for run.json
};

/// A bench process that has not ended after this time is killed, 60 s (quick) or 600 s (full) and
/// ten times the timing that was asked of it, or thrice the time that it is reckoned to take later.
double process_timeout(bool full, double asked_s);

/// Of each comparison group one process for our variants and one per library, which take turns
/// sample by sample (nine of each); where memory does not hold the data of all, one after the other
/// in three rounds. A group's file appears when it is whole. A process
/// that crashes, hangs or prints garbage is tried again one benchmark at a time; what fails alone
/// is noted in run.json and the others go on. Ends with the CSVs, the pictures and the summary on
/// stdout, also after SIGINT, SIGTERM or SIGHUP.
///
/// Returns 0, or 1 if a benchmark failed, a device gave no row at all or the run was interrupted.
/// Throws BadInput (a folder that cannot be made or is full, no programs, no GPU where one was
/// asked for, a bad filter; a summary that stdout does not take, when all else is done).
int run(const RunOptions& options);

}  // namespace roofline
