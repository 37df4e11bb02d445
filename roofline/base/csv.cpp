#include "roofline/base/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "roofline/base/error.hpp"

namespace roofline {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw BadInput(fmt::format("cannot read {}: {}", path.string(), std::strerror(error)));
}

std::string escaped(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

void append_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += escaped(fields[i]);
  }
  out += '\n';
}

}  // namespace

bool plausible(double value) {
  return value == 0 || (std::abs(value) >= 1e-30 && std::abs(value) <= 1e30);
}

std::string read_text(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) fail(path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, errno != 0 ? errno : EIO);
  std::string text;
  for (char block[1 << 16]; in.read(block, sizeof block) || in.gcount() > 0;)
    text.append(block, static_cast<std::size_t>(in.gcount()));
  if (in.bad()) fail(path, EIO);
  return text;
}

std::string csv_number(double value) {
  if (std::isnan(value)) return {};
  if (std::isinf(value)) throw std::logic_error("a CSV field cannot hold an infinity");
  const bool whole = value == std::trunc(value) && std::abs(value) < 9007199254740992.0;
  if (whole || (std::abs(value) >= 1e9 && std::abs(value) < 1e18)) {
    return fmt::format("{:.0f}", value + 0.0);  // + 0.0: -0 becomes 0
  }
  return fmt::format("{:.9g}", value);
}

CsvTable::CsvTable(std::span<const Column> columns) {
  for (const Column& column : columns) columns_.emplace_back(column.name);
}

CsvTable CsvTable::read(const std::filesystem::path& path) {
  return parse(read_text(path), path.string());
}

CsvTable CsvTable::parse(std::string_view text, std::string source) {
  CsvTable table;
  table.source_ = std::move(source);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, 3) == kByteOrderMark) text.remove_prefix(3);
  if (text.empty()) throw BadInput(table.source_ + ": is empty");

  int line = 1;
  bool header_done = false;
  std::size_t at = 0;
  while (at < text.size()) {
    Row row;
    row.line = line;
    for (bool more = true; more;) {
      std::string field;
      if (at < text.size() && text[at] == '"') {
        const int opened = line;
        for (++at;; ++at) {
          if (at >= text.size()) {
            throw BadInput(fmt::format("{}:{}: a quote that opens here is never closed",
                                       table.source_, opened));
          }
          if (text[at] == '\n') ++line;
          if (text[at] != '"') {
            field += text[at];
          } else if (at + 1 < text.size() && text[at + 1] == '"') {
            field += '"';
            ++at;
          } else {
            break;
          }
        }
        ++at;
        if (at < text.size() && text[at] != ',' && text[at] != '\n' && text[at] != '\r') {
          throw BadInput(fmt::format("{}:{}: text after a closing quote", table.source_, line));
        }
      } else {
        const std::size_t end = std::min(text.find_first_of(",\r\n", at), text.size());
        field = text.substr(at, end - at);
        at = end;
      }
      row.fields.push_back(std::move(field));
      more = at < text.size() && text[at] == ',';
      if (more) ++at;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at < text.size() && text[at] == '\n') {
      ++at;
      ++line;
    }
    if (row.fields.size() == 1 && row.fields[0].empty()) continue;  // an empty line
    if (!header_done) {
      table.columns_ = std::move(row.fields);
      header_done = true;
      for (auto i = table.columns_.begin(); i != table.columns_.end(); ++i) {
        if (std::find(table.columns_.begin(), i, *i) != i) {
          throw BadInput(
              fmt::format("{}:{}: column '{}' stands twice", table.source_, row.line, *i));
        }
      }
      continue;
    }
    if (row.fields.size() != table.columns_.size()) {
      throw BadInput(fmt::format("{}:{}: {} fields where the header has {}", table.source_,
                                 row.line, row.fields.size(), table.columns_.size()));
    }
    table.rows_.push_back(std::move(row));
  }
  if (!header_done) throw BadInput(table.source_ + ": is empty");
  return table;
}

std::size_t CsvTable::index(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  return found == columns_.end() ? std::string::npos
                                 : static_cast<std::size_t>(found - columns_.begin());
}

bool CsvTable::has(std::string_view column) const { return index(column) != std::string::npos; }

std::string CsvTable::where(std::size_t row) const {
  return fmt::format("{}:{}", source_, rows_.at(row).line);
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  const std::size_t i = index(column);
  if (i == std::string::npos) throw BadInput(fmt::format("{}: no column '{}'", source_, column));
  return rows_.at(row).fields[i];
}

double CsvTable::number(std::size_t row, std::string_view column) const {
  const std::string& field = text(row, column);
  if (field.empty()) return std::nan("");
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    throw BadInput(
        fmt::format("{}: column '{}': '{}' is not a finite number", where(row), column, field));
  }
  if (!plausible(value)) {
    throw BadInput(
        fmt::format("{}: column '{}': '{}' is beyond 1e-30 to 1e30", where(row), column, field));
  }
  return value;
}

void CsvTable::add_row() { rows_.push_back({std::vector<std::string>(columns_.size()), 0}); }

void CsvTable::set(std::string_view column, std::string_view value) {
  const std::size_t i = index(column);
  if (i == std::string::npos || rows_.empty()) {
    throw std::logic_error(fmt::format("no CSV column '{}' to set", column));
  }
  rows_.back().fields[i] = value;
}

void CsvTable::set(std::string_view column, double value) { set(column, csv_number(value)); }

std::string CsvTable::str() const {
  std::string out;
  append_line(out, columns_);
  for (const Row& row : rows_) append_line(out, row.fields);
  return out;
}

}  // namespace roofline
