// The one error that a user can cause.
#pragma once

#include <stdexcept>

namespace roofline {

/// Bad usage or bad input. The text is one line that names the file, the field or the flag;
/// the command line prints it and exits with code 2.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace roofline
