// One row of Google Benchmark's JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roofline/results/bench_context.hpp"
#include "roofline/results/benchmark.hpp"

namespace roofline {

/// Its fields, with the words for where it stands. Throws BadInput, with those words, for a field
/// of the wrong type.
class RowReader {
 public:
  RowReader(const nlohmann::json& row, std::string where) : row_(row), where_(std::move(where)) {}

  [[noreturn]] void fail(std::string_view what) const;
  void append_where(std::string_view more) { where_ += more; }

  std::string text(const char* field) const;
  bool flag(const char* field) const;
  /// NaN if there is no such field. Null is what a NaN in the file has become.
  double optional_number(const std::string& field) const;
  /// NaN also for what is no finite number above 0.
  double positive_number(const std::string& field) const;
  /// One that has to be there, and at least 0.
  double counter(const std::string& field) const;
  const nlohmann::json& raw() const { return row_; }

 private:
  const nlohmann::json& row_;
  std::string where_;
};

/// Seconds per iteration.
double read_time(const RowReader& row);

Surroundings read_surroundings(const RowReader& row);

/// 0 where the row tells none.
int read_attempt(const RowReader& row);

/// What the row says of its benchmark, without its time.
Benchmark read_sample(const RowReader& row, const std::string& source, const std::string& name,
                      const std::vector<ContextCache>& caches, const RowDefaults& defaults);

/// The parts of a program, without their times.
std::vector<Benchmark> read_parts(const RowReader& row, const Benchmark& program);

}  // namespace roofline
