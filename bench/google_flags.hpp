// Google Benchmark's own flags, looked at before it sees them: what it would answer with exit code
// 0 or 1, or after it has emptied a file.
#pragma once

#include <string>
#include <vector>

#include "bench/case_list.hpp"

namespace bench {

struct GoogleFlags {
  std::string filter = ".";
  std::string out;  ///< file for JSON; empty: none
  bool on_console = true;
  bool only_list = false;           ///< --benchmark_list_tests
  std::vector<std::string> others;  ///< all flags but those of the file, for Google Benchmark
};

/// Google Benchmark's environment variables (BENCHMARK_FILTER, BENCHMARK_REPETITIONS …) as the
/// flags that it takes them for; those that are empty are none.
std::vector<std::string> google_environment();

/// Throws kernels::BadInput for what cannot be done: CSV, whose rows have one set of columns where
/// ours differ; a file that is not JSON or cannot be opened; what is to be a number and is none;
/// with `passes` of samples their repetitions, no file or JSON on the console.
GoogleFlags read_google_flags(const std::vector<std::string>& flags, int passes);

/// Throws kernels::BadInput if the filter is no regular expression or finds none of the entries
/// that can run here; then with the reason why those that it finds cannot.
void check_filter(const std::string& filter, const std::vector<Entry>& entries);

}  // namespace bench
