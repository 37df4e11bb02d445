// Text for terminals: aligned columns, quantities with their prefix, names on one line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace roofline {

/// "1.23 GFLOP/s": three digits and an SI prefix; "-" for an unknown.
std::string with_prefix(double value, std::string_view unit);

/// "12.3 %"; "-" for an unknown.
std::string percent(double fraction);

/// Columns as wide as their widest cell; the first `left` columns are aligned left.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left);

/// Unit of a ceiling's or a kernel's rate: integer operations are OP/s.
std::string rate_unit(const std::string& resource, const std::string& dtype);

/// "1.20x MKL": how many times as long the library takes; "-" for an unknown.
std::string beside_library(double ratio, const std::string& library);

/// The stars behind times of a table: those of each verdict that is_doubtful(), counted.
class Stars {
 public:
  /// A time's star, or none.
  std::string of(const std::string& verdict);
  /// A line for each verdict there was.
  std::string lines() const;

 private:
  std::map<std::string, std::size_t> times_;
};

/// A user's name on one line of a terminal.
std::string printable(std::string text);

}  // namespace roofline
