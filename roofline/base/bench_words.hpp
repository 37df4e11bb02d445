// What a bench program says to `roofline run` of a benchmark that has no time.
#pragma once

#include <string_view>

namespace roofline {

/// The program's exit code where a device fault ended it: no word on the other benchmarks.
inline constexpr int kExitFault = 3;
/// How the message of an error row begins where the result is wrong; the exit code is 1 then.
inline constexpr std::string_view kWrongResult = "wrong result";
/// The same where memory was missing, which others may have held.
inline constexpr std::string_view kOutOfMemory = "out of memory";

}  // namespace roofline
