// The flags of a bench program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/case_list.hpp"

namespace bench {

struct CommandLine {
  Options options;
  bool list = false, counters = false;
  int turns = -1, passes = 0;
  std::vector<std::string> google;  ///< flags for Google Benchmark
};

/// An exit code where there is nothing to run: 0 after --help, 2 after a line on what is wrong.
std::optional<int> read_command_line(int argc, char** argv, CommandLine& line);

}  // namespace bench
