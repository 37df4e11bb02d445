// Which build this is.
#pragma once

namespace roofline::cli {

/// Version and, where it was built from a checkout, commit: "0.1.0 92ef097-dirty".
extern const char* const kBuild;

}  // namespace roofline::cli
