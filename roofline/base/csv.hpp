// CSV files: RFC 4180, fields addressed by column name, written atomically.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/base/schema.hpp"
#include "roofline/base/write_atomically.hpp"

namespace roofline {

/// Zero, or of a magnitude from 1e-30 to 1e30: no quantity of ours lies beyond, and ratios and
/// products of such numbers stay finite. Readers take no others.
bool plausible(double value);

/// The whole file. Throws BadInput naming the file and the system's reason.
std::string read_text(const std::filesystem::path& path);

/// A number as all our CSVs write it: integers in full, from 1e9 on to the unit, else 9 significant
/// digits; unknown (NaN) as an empty text. Throws std::logic_error for an infinity, which no column
/// may hold.
std::string csv_number(double value);

class CsvTable {
 public:
  explicit CsvTable(std::span<const Column> columns);

  /// Throws BadInput naming file and line: unreadable, empty, unterminated quote, a line with
  /// more or fewer fields than the header, a column twice.
  static CsvTable read(const std::filesystem::path& path);
  static CsvTable parse(std::string_view text, std::string source);

  std::size_t rows() const { return rows_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;

  /// Throws BadInput naming file, line and column: no such column.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// An empty field is NaN. Throws BadInput as text(), and for a field that is not a plausible
  /// number.
  double number(std::size_t row, std::string_view column) const;
  /// `file:line` of a row, for messages.
  std::string where(std::size_t row) const;

  /// Appends a row of empty fields; set() fills fields of the last row. An unknown column name is
  /// a std::logic_error.
  void add_row();
  void set(std::string_view column, std::string_view value);
  void set(std::string_view column, double value);

  std::string str() const;
  void write(const std::filesystem::path& path) const { write_atomically(path, str()); }

 private:
  CsvTable() = default;
  std::size_t index(std::string_view column) const;  // npos if there is none

  struct Row {
    std::vector<std::string> fields;
    int line = 0;
  };
  std::string source_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace roofline
