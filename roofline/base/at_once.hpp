// Processes that work at the same time, heard while they do.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace roofline {

/// Starts all commands ([0] is the program's path) at once, each in a process group of its own, and
/// calls `hear` with the position of a command and a line that it has written on stderr; what goes
/// to stdout is thrown away. SIGINT, SIGTERM and SIGHUP, also this process's end, come to each as
/// one SIGTERM, and all are waited for; a SIGINT or SIGTERM more than a
/// second later kills them. Exit codes in the
/// commands' order, 128 and the signal of one that was killed. Throws std::system_error if no
/// process can be made.
std::vector<int> run_at_once(const std::vector<std::vector<std::string>>& commands,
                             const std::function<void(std::size_t, std::string_view)>& hear);

}  // namespace roofline
