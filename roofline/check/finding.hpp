// One thing that was looked at, and what came of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofline::check {

/// In the order of how much it matters.
enum class Grade { kPass, kUnknown, kNote, kWarn, kFail };

/// "PASS", "UNKNOWN", "NOTE", "WARN", "FAIL".
std::string_view word(Grade grade);

struct Finding {
  Grade grade = Grade::kUnknown;
  std::string name;  ///< such as fewer-sms
  std::string text;  ///< one line; of an unknown what would have to be known
  /// Keys of the resources that it can hold back, or what they begin with ("gpu/compute").
  std::vector<std::string> explains;
  std::string device{};  ///< cpu or gpu
};

}  // namespace roofline::check
