// Words on stderr that a run can do without.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace roofline {

/// Where nobody takes it (a full disk, a pipe that is closed) it is lost, and nothing else is:
/// fmt::print would throw, or SIGPIPE come, and end a run of hours.
void say_text(std::string_view text);

template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace roofline
