// What every bench program does.
#pragma once

#include <string>

namespace bench {

/// Parses the command line, registers the benchmarks of `operations` (names, separated by blanks)
/// and runs them. Exit code: 0, 1 if a kernel was wrong, 2 for bad input, a --shape without any
/// time and what cannot be written, 3 after a fault on the GPU.
int run_main(int argc, char** argv, const std::string& operations);

}  // namespace bench
